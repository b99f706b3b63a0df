#include "recomputation.hpp"
#include <set>
namespace lab05 {
void backpropagate(network& net, const std::uint8_t* keep, std::size_t layers) {
  std::set<std::size_t> have;
  auto fwd = [&](std::size_t i) { net.forward(i); have.insert(i); };
  auto drop = [&](std::size_t i) { net.drop(i); have.erase(i); };
  for (std::size_t i = 0; i < layers; i++) {
    fwd(i);
    if (i >= 1 && !keep[i - 1]) drop(i - 1);
  }
  // the last one is used at once
  for (std::size_t i = layers; i-- > 0;) {
    // recompute what is missing up to i
    if (!have.count(i) || (i > 0 && !have.count(i - 1))) {
      std::size_t s = i;
      while (s > 0 && !have.count(s - 1)) s--;
      for (std::size_t j = s; j <= i; j++) if (!have.count(j)) fwd(j);
    }
    net.backward(i);
    drop(i);
  }
}
}
