// Low-precision numbers on the CPU. Nothing works yet; fp32, which is a float, lacks only its NaN.
#include <bit>
#include <cmath>
#include <limits>

#include "low_precision.hpp"

namespace lab09 {

std::uint32_t encode(float value, format) {
  // TODO(lab09.encode_correct): which bits of the float are kept, and what decides whether to round up?
  return std::bit_cast<std::uint32_t>(value);
}

float decode(std::uint32_t bits, format) {
  // TODO(lab09.decode_correct): sign, exponent, fraction; then the special values.
  return std::bit_cast<float>(bits);
}

float sum(const float* x, std::size_t n, format, format) {
  // TODO(lab09.sum_correct): round each term and each partial sum.
  float total = 0.0f;
  for (std::size_t i = 0; i < n; ++i) total += x[i];
  return total;
}

// TODO(lab09.steps_correct): the next four. A helper that rounds a float to a format serves all of them.
float softmax_sum(const float*, std::size_t, format) { return 0.0f; }
float variance(const float*, std::size_t, format) { return 0.0f; }
float cross_entropy(const float*, std::size_t, std::size_t, format) { return 0.0f; }
float descend(float w, float, float, std::size_t, format) { return w; }

// TODO(lab09.scaling_correct): where does fp16 begin, and where does it end?
std::size_t lost(const float*, std::size_t, float) { return 0; }
float loss_scale(const float*, std::size_t) { return 1.0f; }

// TODO(lab09.groups_correct): a scale for each group, then its numbers.
void quantize_int8(std::int8_t*, float*, const float*, std::size_t) {}
void dequantize_int8(float*, const std::int8_t*, const float*, std::size_t) {}
void quantize_int4(std::uint8_t*, float*, const float*, std::size_t) {}
void dequantize_int4(float*, const std::uint8_t*, const float*, std::size_t) {}
void quantize_mxfp4(std::uint8_t*, std::uint8_t*, const float*, std::size_t) {}
void dequantize_mxfp4(float*, const std::uint8_t*, const std::uint8_t*, std::size_t) {}

}  // namespace lab09
