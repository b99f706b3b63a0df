// Runs the plan. The forward pass frees a dropped activation as soon as the next one is computed; the backward pass
// recomputes a dropped run when it first needs one of its activations.
#include "recomputation.hpp"

namespace lab05 {

void backpropagate(network& net, const std::uint8_t* keep, std::size_t layers) {
  for (std::size_t i = 0; i < layers; ++i) {
    net.forward(i);
    if (i > 0 && !keep[i - 1]) net.drop(i - 1);
  }
  // Held now: the kept activations, and the last one.
  //! [backward]
  for (std::size_t i = layers; i-- > 0;) {
    if (i > 0 && !keep[i - 1]) {
      const bool already_there = i + 1 < layers && !keep[i];  // computed with activation i
      if (!already_there) {
        std::size_t first = i - 1;
        while (first > 0 && !keep[first - 1]) --first;
        for (std::size_t k = first; k < i; ++k) net.forward(k);
      }
    }
    net.backward(i);
    net.drop(i);
  }
  //! [backward]
}

}  // namespace lab05
