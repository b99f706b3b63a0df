#include "addresses.hpp"

#include <algorithm>

namespace sim {

std::size_t distinct(std::span<std::uintptr_t> values) {
  // Rows of a tile that is half a warp wide.
  const auto half = static_cast<std::ptrdiff_t>(values.size() / 2);
  if (half > 1 && values.size() % 2 == 0 && std::equal(values.begin(), values.begin() + half, values.begin() + half))
    return distinct(values.first(values.size() / 2));
  if (!std::is_sorted(values.begin(), values.end())) std::sort(values.begin(), values.end());  // mostly they are
  return static_cast<std::size_t>(std::unique(values.begin(), values.end()) - values.begin());
}

}  // namespace sim
