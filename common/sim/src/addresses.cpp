#include "addresses.hpp"

#include <algorithm>

#include "access.hpp"
#include "heap.hpp"

namespace sim {
namespace {

/// Whether all active lanes n share the address of lane n ^ 1, or all share that of lane n ^ 2.
bool in_pairs(std::span<const std::uintptr_t> a, std::span<const std::uint8_t> lanes) {
  std::uintptr_t by_lane[lanes_per_warp] = {};
  for (std::size_t i = 0; i < a.size(); ++i) by_lane[lanes[i]] = a[i];
  for (const unsigned other : {1u, 2u}) {
    bool all = true;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::uintptr_t partner = by_lane[lanes[i] ^ other];
      all &= partner == 0 || partner == a[i];
    }
    if (all) return true;
  }
  return false;
}

}  // namespace

std::size_t lanes_per_phase(std::span<const std::uintptr_t> a, std::span<const std::uint8_t> lanes, std::size_t bytes) {
  if (bytes <= word_bytes) return lanes_per_warp;
  return 2 * lanes_per_warp * word_bytes / bytes / (in_pairs(a, lanes) ? 1 : 2);
}

std::size_t distinct(std::span<std::uintptr_t> values) {
  // Rows of a tile that is half a warp wide.
  const auto half = static_cast<std::ptrdiff_t>(values.size() / 2);
  if (half > 1 && values.size() % 2 == 0 && std::equal(values.begin(), values.begin() + half, values.begin() + half))
    return distinct(values.first(values.size() / 2));
  if (!std::is_sorted(values.begin(), values.end())) std::sort(values.begin(), values.end());  // usually sorted
  return static_cast<std::size_t>(std::unique(values.begin(), values.end()) - values.begin());
}

std::uint32_t mask_of(std::span<const std::uint8_t> lanes) {
  if (lanes.size() == lanes_per_warp) return ~std::uint32_t{0};
  std::uint32_t mask = 0;
  for (const std::uint8_t lane : lanes) mask |= 1u << lane;
  return mask;
}

}  // namespace sim
