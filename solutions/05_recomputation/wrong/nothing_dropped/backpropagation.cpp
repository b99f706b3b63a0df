// Wrong on purpose: the plan is not read.
#include "recomputation.hpp"

namespace lab05 {

void backpropagate(network& net, const std::uint8_t* keep, std::size_t layers) {
  (void)keep;
  for (std::size_t i = 0; i < layers; ++i) net.forward(i);
  for (std::size_t i = layers; i-- > 0;) net.backward(i);
}

}  // namespace lab05
