// Random numbers that are the same on every machine. They are predictable: no check may depend on them.
#pragma once

#include <cstdint>

namespace lab {

/// The next number of a sequence, from any initial state: SplitMix64 (Steele, Lea and Flood, 2014).
constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace lab
