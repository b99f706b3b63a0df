// For tests: the kernels that are the same in every checkout.
#include "forward.hpp"
#include "handed_in.hpp"

const gpt2::kernels& gpt2::handed_in() {
  static constexpr kernels two{.layer_norm = lab08::layer_norm_unfused,
                               .causal_softmax = lab08::causal_softmax_unfused};
  return two;
}
