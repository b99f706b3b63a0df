// A training step that keeps only what a plan keeps. The skeleton's gradients are right, but it keeps everything.
#include "recomputation.hpp"

namespace lab05 {

void backpropagate(network& net, const std::uint8_t* keep, std::size_t layers) {
  // TODO(lab05.backpropagate_correct): drop in the forward pass, recompute in the backward pass, drop when done.
  (void)keep;  // delete this line once it is used
  for (std::size_t i = 0; i < layers; ++i) net.forward(i);
  for (std::size_t i = layers; i-- > 0;) net.backward(i);
}

}  // namespace lab05
