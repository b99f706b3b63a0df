#include "addresses.hpp"

#include <algorithm>

namespace sim {

std::size_t distinct(std::span<std::uintptr_t> values) {
  if (!std::is_sorted(values.begin(), values.end())) std::sort(values.begin(), values.end());  // mostly they are
  return static_cast<std::size_t>(std::unique(values.begin(), values.end()) - values.begin());
}

}  // namespace sim
