// Given: a square root for loops on a CPU.
#pragma once

#include <bit>
#include <cstdint>

namespace lab14 {

/// sqrt(x) for x >= 0, to a few units in the last place where x is a normal number. std::sqrt must set errno for x < 0,
/// so compilers do not vectorize loops with it; they do with this one. Three Newton steps refine a guess of 1 / sqrt(x)
/// that halves the exponent.
inline float square_root(float x) {
  const float half = 0.5f * x;
  float y = std::bit_cast<float>(0x5F3759DFu - (std::bit_cast<std::uint32_t>(x) >> 1));
  for (int i = 0; i < 3; ++i) y *= 1.5f - half * y * y;
  return x * y;
}

}  // namespace lab14
