// A sigmoid for the host part, in operations that a compiler can vectorize: std::exp is one call per element.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "lab/exponential.hpp"

namespace lab05 {

/// sigmoid(x), for any x; its relative error is at most 3e-7 for |x| <= 87, beyond which |x| counts as 87.
inline float sigmoid_of(float x) {
  // With e = e^-|x| it is 1 / (1 + e), or e / (1 + e) if x is negative. The bits of positive floats sort like their
  // values; a choice between floats may compile to a branch, which keeps a loop around it from being vectorized.
  const std::int32_t bits = std::bit_cast<std::int32_t>(x), all_if_negative = bits >> 31;
  const float y = -std::bit_cast<float>(std::min(bits & 0x7FFFFFFF, std::bit_cast<std::int32_t>(87.0f)));
  const float e = lab::exponential(y);
  const std::int32_t one = std::bit_cast<std::int32_t>(1.0f);
  return std::bit_cast<float>((std::bit_cast<std::int32_t>(e) & all_if_negative) | (one & ~all_if_negative)) /
         (1.0f + e);
}

}  // namespace lab05
