// Common properties of the addresses in one warp instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sim {

/// Lanes of a warp access consecutive elements in order.
inline bool consecutive(std::span<const std::uintptr_t> a, std::size_t bytes) {
  std::uintptr_t different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different |= a[i] ^ (a[0] + i * bytes);
  return different == 0;
}

enum class lane_pattern : std::uint8_t { same, row, other };  ///< one address, consecutive elements, or neither
inline lane_pattern pattern_of(std::span<const std::uintptr_t> a, std::size_t bytes) {
  for (const std::uintptr_t x : a)
    if (x != a[0]) return consecutive(a, bytes) ? lane_pattern::row : lane_pattern::other;
  return lane_pattern::same;
}

/// How many lanes of a warp access shared memory together: all for up to 4 bytes each, half for 8, a quarter for 16;
/// twice as many if pairs of lanes share an address. Observed on an H200: tests/goldens.
std::size_t lanes_per_phase(std::span<const std::uintptr_t> a, std::span<const std::uint8_t> lanes, std::size_t bytes);

/// Sorts the values and returns the number of distinct ones.
std::size_t distinct(std::span<std::uintptr_t> values);
/// A bit for each lane.
std::uint32_t mask_of(std::span<const std::uint8_t> lanes);

}  // namespace sim
