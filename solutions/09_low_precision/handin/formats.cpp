// Low-precision numbers on the CPU: encoding and decoding, what rounding after each operation does to sums, and groups
// of integers with one scale. What each experiment showed: WORKLOG.md.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "low_precision.hpp"

namespace lab09 {
namespace {

/// How the formats differ. The bits of a tf32 number are those of a float: the lowest `below` are unused.
struct layout {
  int exponent, fraction, below;
  bool infinities;
  int bias() const { return (1 << (exponent - 1)) - 1; }
  std::uint32_t sign() const { return std::uint32_t{1} << (exponent + fraction); }
  /// The bits of the largest finite number; e4m3 uses the largest exponent, too, for all fractions but one.
  std::uint32_t largest() const {
    const std::uint32_t all_exponents = ((std::uint32_t{1} << exponent) - 1) << fraction;
    return infinities ? all_exponents - 1 : sign() - 2;
  }
};

constexpr layout layout_of(format f) {
  switch (f) {
    case format::fp16: return {5, 10, 0, true};
    case format::bf16: return {8, 7, 0, true};
    case format::tf32: return {8, 10, 13, true};
    case format::e4m3: return {4, 3, 0, false};
    case format::e5m2: return {5, 2, 0, true};
    default: return {8, 23, 0, true};
  }
}

float rounded(float value, format to) { return decode(encode(value, to), to); }

float mean(const float* x, std::size_t n, format in) {
  return rounded(sum(x, n, in, in) / rounded(static_cast<float>(n), in), in);
}

float largest_magnitude(const float* x, std::size_t n) {
  float most = 0.0f;
  for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::abs(x[i]));
  return most;
}

float largest(const float* x, std::size_t n, format in) {
  float most = rounded(x[0], in);
  for (std::size_t i = 1; i < n; ++i) most = std::max(most, rounded(x[i], in));
  return most;
}

/// The index of e2m1's numbers 0, 0.5, 1, 1.5, 2, 3, 4, 6 that is nearest to `magnitude`; of two equally near, the
/// even.
std::uint8_t nearest_e2m1(float magnitude) {
  constexpr float midpoints[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};
  std::uint8_t code = 0;
  for (const float midpoint : midpoints) code += magnitude > midpoint || (magnitude == midpoint && code % 2 == 1);
  return code;
}

/// Puts `code(i)`, 4 bits, for each number i of a group into bytes.
template <class Code>
void pack(std::uint8_t* to, std::size_t group, const Code& code) {
  for (std::size_t i = 0; i < group / 2; ++i) to[i] = static_cast<std::uint8_t>(code(i) | code(i + group / 2) << 4);
}

/// Extracts number i of a group.
std::uint8_t unpacked(const std::uint8_t* from, std::size_t group, std::size_t i) {
  return i < group / 2 ? from[i] & 15 : from[i - group / 2] >> 4;
}

/// x / scale, rounded and clamped to [-most, most].
int quotient(float x, float scale, float most) {
  if (scale == 0.0f) return 0;
  return static_cast<int>(std::clamp(std::nearbyint(x / scale), -most, most));
}

}  // namespace

std::uint32_t encode(float value, format to) {
  const layout f = layout_of(to);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31 ? f.sign() : 0, magnitude = bits & 0x7FFF'FFFF;
  if (std::isnan(value)) return (f.sign() - 1) << f.below;

  // A whole number of units in the last place: below the smallest normal number the unit stays the same.
  const int exponent = std::max(static_cast<int>(magnitude >> 23), 1) - 127;  // of the float
  const int drop = 23 - f.fraction + std::max(0, 1 - f.bias() - exponent);    // bits of its significand to round off
  const std::uint32_t significand = (magnitude & 0x7F'FFFF) | (magnitude >> 23 ? 0x80'0000 : 0);
  //! [units]
  std::uint32_t units = 0;
  if (drop <= 24) {  // otherwise it is less than half of the smallest number
    const std::uint32_t odd = drop < 24 ? significand >> drop & 1 : 0;
    units = drop == 0 ? significand : (significand + (std::uint32_t{1} << (drop - 1)) - 1 + odd) >> drop;
  }
  // The leading 1 adds one to the exponent field, and so does a carry out of the fraction.
  const int field = std::max(0, exponent + f.bias() - 1);
  const std::uint64_t code = (std::uint64_t(field) << f.fraction) + units;
  //! [units]
  const bool saturates = to == format::e4m3 || to == format::e5m2;
  const std::uint32_t limit = saturates ? f.largest() : f.largest() + 1;
  return (sign | static_cast<std::uint32_t>(std::min<std::uint64_t>(code, limit))) << f.below;
}

float decode(std::uint32_t bits, format from) {
  const layout f = layout_of(from);
  bits >>= f.below;
  const std::uint32_t magnitude = bits & (f.sign() - 1), fraction = magnitude & ((std::uint32_t{1} << f.fraction) - 1);
  const int field = static_cast<int>(magnitude >> f.fraction);
  float value = 0.0f;
  if (magnitude > f.largest())
    value = f.infinities && fraction == 0 ? std::numeric_limits<float>::infinity()
                                          : std::numeric_limits<float>::quiet_NaN();
  else if (field == 0)
    value = std::ldexp(static_cast<float>(fraction), 1 - f.bias() - f.fraction);
  else
    value = std::ldexp(static_cast<float>(fraction + (std::uint32_t{1} << f.fraction)), field - f.bias() - f.fraction);
  return bits & f.sign() ? -value : value;
}

float sum(const float* x, std::size_t n, format terms, format sums) {
  float total = 0.0f;
  for (std::size_t i = 0; i < n; ++i) total = rounded(total + rounded(x[i], terms), sums);
  return total;
}

float softmax_sum(const float* x, std::size_t n, format in) {
  const float most = largest(x, n, in);
  float total = 0.0f;
  for (std::size_t i = 0; i < n; ++i) {
    const float power = rounded(std::exp(rounded(rounded(x[i], in) - most, in)), in);
    total = rounded(total + power, in);
  }
  return total;
}

float variance(const float* x, std::size_t n, format in) {
  const float middle = mean(x, n, in);
  float total = 0.0f;
  for (std::size_t i = 0; i < n; ++i) {
    const float off = rounded(rounded(x[i], in) - middle, in), square = rounded(off * off, in);
    total = rounded(total + square, in);
  }
  return rounded(total / rounded(static_cast<float>(n), in), in);
}

float cross_entropy(const float* x, std::size_t n, std::size_t target, format in) {
  const float logarithm = rounded(std::log(softmax_sum(x, n, in)), in);
  return rounded(logarithm - rounded(rounded(x[target], in) - largest(x, n, in), in), in);
}

float descend(float w, float rate, float gradient, std::size_t steps, format in) {
  const float step = rounded(rounded(rate, in) * rounded(gradient, in), in);
  w = rounded(w, in);
  for (std::size_t i = 0; i < steps; ++i) w = rounded(w - step, in);
  return w;
}

std::size_t lost(const float* x, std::size_t n, float scale) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) count += x[i] != 0.0f && rounded(x[i] * scale, format::fp16) == 0.0f;
  return count;
}

float loss_scale(const float* x, std::size_t n) {
  constexpr float infinite_from = 65520.0f;  // half a unit above the largest number of fp16
  const float most = largest_magnitude(x, n);
  float scale = std::exp2(static_cast<float>(15 - std::ilogb(most)));
  return most * scale < infinite_from ? scale : scale / 2;
}

void quantize_int8(std::int8_t* q, float* scale, const float* in, std::size_t groups) {
  for (std::size_t g = 0; g < groups; ++g, q += int_group, in += int_group) {
    scale[g] = largest_magnitude(in, int_group) / 127.0f;
    for (std::size_t i = 0; i < int_group; ++i) q[i] = static_cast<std::int8_t>(quotient(in[i], scale[g], 127.0f));
  }
}

void dequantize_int8(float* out, const std::int8_t* q, const float* scale, std::size_t groups) {
  for (std::size_t i = 0; i < groups * int_group; ++i) out[i] = static_cast<float>(q[i]) * scale[i / int_group];
}

void quantize_int4(std::uint8_t* q, float* scale, const float* in, std::size_t groups) {
  for (std::size_t g = 0; g < groups; ++g, q += int_group / 2, in += int_group) {
    scale[g] = largest_magnitude(in, int_group) / 7.0f;
    pack(q, int_group, [&](std::size_t i) { return quotient(in[i], scale[g], 7.0f) + 8; });
  }
}

void dequantize_int4(float* out, const std::uint8_t* q, const float* scale, std::size_t groups) {
  for (std::size_t g = 0; g < groups; ++g, q += int_group / 2, out += int_group)
    for (std::size_t i = 0; i < int_group; ++i) out[i] = static_cast<float>(unpacked(q, int_group, i) - 8) * scale[g];
}

void quantize_mxfp4(std::uint8_t* q, std::uint8_t* scale, const float* in, std::size_t groups) {
  for (std::size_t g = 0; g < groups; ++g, q += mx_group / 2, in += mx_group) {
    const float most = largest_magnitude(in, mx_group);
    scale[g] = most == 0.0f ? std::uint8_t{0} : static_cast<std::uint8_t>(std::max(std::ilogb(most) - 2 + 127, 0));
    pack(q, mx_group, [&](std::size_t i) {
      const std::uint8_t sign = std::signbit(in[i]) ? 8 : 0;
      return sign | nearest_e2m1(std::ldexp(std::abs(in[i]), 127 - scale[g]));  // exact: a power of two
    });
  }
}

void dequantize_mxfp4(float* out, const std::uint8_t* q, const std::uint8_t* scale, std::size_t groups) {
  constexpr float numbers[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  for (std::size_t g = 0; g < groups; ++g, q += mx_group / 2, out += mx_group)
    for (std::size_t i = 0; i < mx_group; ++i) {
      const std::uint8_t code = unpacked(q, mx_group, i);
      const float magnitude = std::ldexp(numbers[code & 7], scale[g] - 127);
      out[i] = code & 8 ? -magnitude : magnitude;
    }
}

}  // namespace lab09
