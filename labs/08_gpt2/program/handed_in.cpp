// The student's two blocks of lab 08, and nothing else.
#include "handed_in.hpp"

#include "forward.hpp"

const gpt2::kernels& gpt2::handed_in() {
  static constexpr kernels two{.layer_norm = lab08::layer_norm, .causal_softmax = lab08::causal_softmax};
  return two;
}
