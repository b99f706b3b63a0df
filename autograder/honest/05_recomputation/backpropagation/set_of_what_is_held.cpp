#include <set>
#include <span>

#include "recomputation.hpp"

namespace lab05 {
void backpropagate(network& net, const std::uint8_t* keep, std::size_t layers) {
  std::set<std::size_t> held;
  const std::span plan(keep, layers);
  const auto compute = [&](std::size_t i) { net.forward(i), held.insert(i); };
  const auto drop = [&](std::size_t i) {
    if (held.erase(i)) net.drop(i);
  };
  const auto need = [&](std::size_t i) {
    if (held.contains(i)) return;
    std::size_t first = i;
    while (first > 0 && !held.contains(first - 1)) --first;
    for (; first <= i; ++first) compute(first);
  };
  for (std::size_t i = 0; i < layers; ++i) {
    compute(i);
    if (i > 0 && !plan[i - 1]) drop(i - 1);
  }
  if (!plan.back()) drop(layers - 1);
  for (std::size_t i = layers; i-- > 0;) {
    need(i);
    if (i > 0) need(i - 1);
    net.backward(i);
    drop(i);
  }
}
}  // namespace lab05
