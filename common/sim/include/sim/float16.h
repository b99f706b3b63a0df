// 16-bit numbers, in software: each operation is computed wide and rounded once.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "sim/atomic.h"
#include "sim/math.h"
#include "sim/warp.h"

namespace sim {

struct binary16 {
  static constexpr int mantissa_bits = 10, exponent_bits = 5;
};
struct bfloat16 {
  static constexpr int mantissa_bits = 7, exponent_bits = 8;
};
template <class Format>
inline constexpr std::uint16_t infinity16 = ((1 << Format::exponent_bits) - 1) << Format::mantissa_bits;
constexpr std::uint16_t nan16 = 0x7fff;  // the one that GPUs generate

enum class rounding { nearest, zero, up, down };

template <class Format>
std::uint16_t encode(double x, rounding mode = rounding::nearest) {
  constexpr int lowest = 2 - (1 << (Format::exponent_bits - 1));  // exponent of the smallest normal number
  const std::uint64_t bits = sim::bit_cast<std::uint64_t>(x);
  const bool negative = bits >> 63;
  const auto sign = static_cast<std::uint16_t>(negative << 15);
  if (std::isnan(x)) return nan16;
  if (std::isinf(x)) return sign | infinity16<Format>;
  const int own = static_cast<int>(bits >> 52 & 0x7ff) - 1023, exponent = own < lowest ? lowest : own;
  // In units of the last place, which is exact: it multiplies by a power of two.
  const auto power = static_cast<std::uint64_t>(1023 + Format::mantissa_bits - exponent) << 52;
  const double units = std::fabs(x) * sim::bit_cast<double>(power);
  auto whole = static_cast<int>(units);
  const double rest = units - whole;
  if (mode == rounding::nearest)
    whole += rest > 0.5 || (rest == 0.5 && whole % 2 == 1);
  else
    whole += rest > 0 && mode == (negative ? rounding::down : rounding::up);
  // The mantissa's hidden bit is part of `whole`, and a carry out of it raises the exponent.
  const int encoded = ((exponent - lowest) << Format::mantissa_bits) + whole;
  if (encoded < infinity16<Format>) return static_cast<std::uint16_t>(sign | encoded);
  const bool to_infinity = mode == rounding::nearest || mode == (negative ? rounding::down : rounding::up);
  return static_cast<std::uint16_t>(sign | (to_infinity ? infinity16<Format> : infinity16<Format> - 1));
}

template <class Format>
float decode(std::uint16_t x) {
  constexpr int bias = (1 << (Format::exponent_bits - 1)) - 1;
  const std::uint32_t magnitude = x & 0x7fffu, sign = std::uint32_t{x & 0x8000u} << 16;
  std::uint32_t bits = magnitude << (23 - Format::mantissa_bits);
  if (magnitude >= infinity16<Format>) return sim::bit_cast<float>(bits | 0x7f800000u | sign);
  bits = sim::bit_cast<std::uint32_t>(sim::bit_cast<float>(bits) *
                                      sim::bit_cast<float>(std::uint32_t{127 + 127 - bias} << 23));
  return sim::bit_cast<float>(bits | sign);
}

/// a + b rounded to odd: an inexact sum gets an odd last bit, so that rounding again to fewer bits equals rounding
/// once.
inline double sum_to_odd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double b_part = sum - a, error = (a - (sum - b_part)) + (b - b_part);
  const auto bits = sim::bit_cast<std::uint64_t>(sum);
  if (error == 0 || bits % 2 == 1) return sum;
  return sim::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}
inline double to_odd(long long x) {
  return sum_to_odd(static_cast<double>(x & ~0xffffffffLL), static_cast<double>(x & 0xffffffffLL));
}
inline double to_odd(unsigned long long x) {
  return sum_to_odd(static_cast<double>(x & ~0xffffffffULL), static_cast<double>(x & 0xffffffffULL));
}

}  // namespace sim
