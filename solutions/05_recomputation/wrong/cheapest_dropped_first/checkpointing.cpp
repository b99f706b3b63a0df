// Wrong on purpose: greedy.
#include "recomputation.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace lab05 {

void choose_checkpoints(std::uint8_t* keep, const std::int64_t* bytes, const std::int64_t* flops, std::size_t layers,
                        std::int64_t budget) {
  std::fill_n(keep, layers, std::uint8_t{1});
  const auto peak = [&] {
    std::int64_t kept = 0, run = 0, longest = 0;
    for (std::size_t i = 0; i < layers; ++i) {
      kept += keep[i] ? bytes[i] : 0;
      run = keep[i] ? 0 : run + bytes[i];
      longest = std::max(longest, run);
    }
    return kept + longest;
  };
  std::vector<std::size_t> order(layers);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return static_cast<double>(flops[a]) / static_cast<double>(bytes[a]) <
           static_cast<double>(flops[b]) / static_cast<double>(bytes[b]);
  });
  for (const std::size_t i : order) {
    if (peak() <= budget) return;
    keep[i] = 0;
  }
}

}  // namespace lab05
