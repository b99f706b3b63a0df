// Wrong on purpose: what was made again is thrown away too early.
#include "recomputation.hpp"

namespace lab05 {

void backpropagate(network& net, const std::uint8_t* keep, std::size_t layers) {
  for (std::size_t i = 0; i < layers; ++i) {
    net.forward(i);
    if (i > 0 && !keep[i - 1]) net.drop(i - 1);
  }
  for (std::size_t i = layers; i-- > 0;) {
    std::size_t first = i;
    while (first > 0 && !keep[first - 1]) --first;
    for (std::size_t k = first; k < i; ++k) {
      net.forward(k);
      if (k > first) net.drop(k - 1);
    }
    net.backward(i);
    net.drop(i);
    if (i > 0 && !keep[i - 1]) {  // the next turn wants it as its own
      net.drop(i - 1);
      for (std::size_t k = first; k < i; ++k) {
        net.forward(k);
        if (k > first) net.drop(k - 1);
      }
    }
  }
}

}  // namespace lab05
