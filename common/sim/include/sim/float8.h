// 8-bit numbers, in software: E4M3 (448 is the largest, no infinity, one NaN) and E5M2 (the upper byte of a half).
#pragma once

#include "sim/float16.h"

namespace sim {

struct e4m3 {
  static constexpr int mantissa_bits = 3, lowest = -6;  // exponent of the smallest normal number
  static constexpr int largest = 0x7e, beyond = 0x7f;   // beyond the largest: NaN
};
struct e5m2 {
  static constexpr int mantissa_bits = 2, lowest = -14;
  static constexpr int largest = 0x7b, beyond = 0x7c;  // infinity
};

/// Rounds to nearest. If `saturates`, numbers beyond the largest become the largest.
template <class Format>
std::uint8_t encode8(double x, bool saturates) {
  constexpr bool wide = Format::mantissa_bits == 2;
  const auto bits = sim::bit_cast<std::uint64_t>(x);
  const auto sign = static_cast<std::uint8_t>(bits >> 63 << 7);
  if (std::isnan(x)) return static_cast<std::uint8_t>(sign | (wide ? 0x7e | (bits >> 50 & 3) : 0x7f));
  const int own = static_cast<int>(bits >> 52 & 0x7ff) - 1023, exponent = own < Format::lowest ? Format::lowest : own;
  const auto power = static_cast<std::uint64_t>(1023 + Format::mantissa_bits - exponent) << 52;
  int encoded = Format::largest + 1;
  if (exponent < 128) {  // in units of the last place, exactly; rounded to even
    const double units = std::fabs(x) * sim::bit_cast<double>(power);
    const int whole = static_cast<int>(units);
    const double rest = units - whole;
    // The mantissa's hidden bit is part of `whole`, and a carry out of it raises the exponent.
    encoded = ((exponent - Format::lowest) << Format::mantissa_bits) + whole +
              (rest > 0.5 || (rest == 0.5 && whole % 2 == 1));
  }
  if (encoded > Format::largest) encoded = saturates ? Format::largest : Format::beyond;
  return static_cast<std::uint8_t>(sign | encoded);
}

/// Converts to the bits of a half, which can represent every number of both formats.
template <class Format>
std::uint16_t half_of8(std::uint8_t x) {
  const unsigned sign = (x & 0x80u) << 8, magnitude = x & 0x7fu;
  if (Format::mantissa_bits == 2) return magnitude > 0x7c ? nan16 : static_cast<std::uint16_t>(sign | magnitude << 8);
  if (magnitude == 0x7f) return nan16;
  const int exponent = static_cast<int>(magnitude >> 3), mantissa = static_cast<int>(magnitude & 7);
  const double value = std::ldexp(exponent == 0 ? mantissa : mantissa + 8, (exponent == 0 ? 1 : exponent) - 7 - 3);
  return static_cast<std::uint16_t>(sign | encode<binary16>(value));
}
template <class Format>
float decode8(std::uint8_t x) {
  return decode<binary16>(half_of8<Format>(x));
}

}  // namespace sim
