// What a token costs, and the product of a bf16 matrix and a vector on one core, at the speed at which weights arrive.
#include "decode.hpp"

#ifdef __aarch64__
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#include <cstring>
#include <vector>

namespace lab10 {

namespace {

std::int64_t of_heads(const shape& s, std::int64_t heads) { return heads * s.size; }

/// Weights of all matrices; each is in one multiply-add.
std::int64_t matrix_weights(const shape& s) {
  const std::int64_t width = s.width, hidden = s.hidden;
  const std::int64_t layer =
      width * (of_heads(s, s.heads + 2 * s.kv_heads) + of_heads(s, s.heads)) + 3 * width * hidden;
  return s.layers * layer + s.vocabulary * width;
}

}  // namespace

std::int64_t weight_bytes(const shape& s) {
  const std::int64_t norms = (2 * s.layers + 1) * std::int64_t{s.width};
  return 2 * (matrix_weights(s) + norms);
}

std::int64_t cache_bytes(const shape& s, std::int64_t tokens) {
  return 2 * 2 * tokens * s.layers * of_heads(s, s.kv_heads);
}

std::int64_t token_bytes(const shape& s, std::int64_t position) {
  return weight_bytes(s) + cache_bytes(s, position) + cache_bytes(s, 1);
}

double intensity(const shape& s, std::int64_t position) {
  const std::int64_t attention = 2 * s.layers * of_heads(s, s.heads) * (position + 1);
  return 2 * static_cast<double>(matrix_weights(s) + attention) / static_cast<double>(token_bytes(s, position));
}

double least_seconds(const shape& s, std::int64_t position, double bytes_per_second) {
  return static_cast<double>(token_bytes(s, position)) / bytes_per_second;
}

namespace {

#ifdef __AVX512F__
using floats = __m512;
using integers = __m512i;
integers load(const std::uint16_t* from) { return _mm512_loadu_si512(from); }
floats load(const float* from) { return _mm512_loadu_ps(from); }
floats even(integers w) { return _mm512_castsi512_ps(_mm512_slli_epi32(w, 16)); }
floats odd(integers w) { return _mm512_castsi512_ps(_mm512_and_si512(w, _mm512_set1_epi32(-65536))); }
floats multiply_add(floats a, floats b, floats sum) { return _mm512_fmadd_ps(a, b, sum); }
#elif defined(__aarch64__)
using floats = float32x4_t;
using integers = uint32x4_t;
integers load(const std::uint16_t* from) { return vreinterpretq_u32_u16(vld1q_u16(from)); }
floats load(const float* from) { return vld1q_f32(from); }
floats even(integers w) { return vreinterpretq_f32_u32(vshlq_n_u32(w, 16)); }
floats odd(integers w) { return vreinterpretq_f32_u32(vandq_u32(w, vdupq_n_u32(0xffff0000))); }
floats multiply_add(floats a, floats b, floats sum) { return vfmaq_f32(sum, a, b); }
#else
using floats = __m256;
using integers = __m256i;
integers load(const std::uint16_t* from) { return _mm256_loadu_si256((const __m256i*)from); }
floats load(const float* from) { return _mm256_loadu_ps(from); }
floats even(integers w) { return _mm256_castsi256_ps(_mm256_slli_epi32(w, 16)); }
floats odd(integers w) { return _mm256_castsi256_ps(_mm256_and_si256(w, _mm256_set1_epi32(-65536))); }
floats multiply_add(floats a, floats b, floats sum) { return _mm256_fmadd_ps(a, b, sum); }
#endif

constexpr std::size_t lanes = sizeof(floats) / sizeof(float), step = 2 * lanes;  // weights in a vector
constexpr std::size_t line = 64 / sizeof(std::uint16_t), ahead = 2048 / sizeof(std::uint16_t);
constexpr std::size_t together = 4;  // rows, a quarter of the matrix apart: four streams

float total(floats v) {
  float parts[lanes], sum = 0.0f;
  std::memcpy(parts, &v, sizeof v);
  for (const float one : parts) sum += one;
  return sum;
}

float widened(std::uint16_t bits) {
  const std::uint32_t word = std::uint32_t{bits} << 16;
  float result;
  std::memcpy(&result, &word, sizeof result);
  return result;
}

/// `count` rows, `apart` rows from each other. In `x`, even and odd numbers for each vector of weights are separate.
template <std::size_t count>
void multiply(float* y, const std::uint16_t* w, const float* x, const float* plain, std::size_t columns,
              std::size_t apart) {
  floats sum[count][2] = {};
  std::size_t c = 0;
  for (; c + line <= columns; c += line)
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint16_t* const row = w + i * apart * columns + c;
      __builtin_prefetch(row + ahead);
      for (std::size_t j = 0; j < line; j += step) {
        const integers weights = load(row + j);
        sum[i][0] = multiply_add(even(weights), load(x + c + j), sum[i][0]);
        sum[i][1] = multiply_add(odd(weights), load(x + c + j + lanes), sum[i][1]);
      }
    }
  for (std::size_t i = 0; i < count; ++i) {
    float rest = 0.0f;
    for (std::size_t j = c; j < columns; ++j) rest += widened(w[i * apart * columns + j]) * plain[j];
    y[i * apart] = total(sum[i][0]) + total(sum[i][1]) + rest;
  }
}

}  // namespace

void matvec_host(float* y, const std::uint16_t* w, const float* x, std::size_t rows, std::size_t columns) {
  std::vector<float> sorted(columns);
  for (std::size_t c = 0; c + step <= columns; c += step)
    for (std::size_t i = 0; i < lanes; ++i) {
      sorted[c + i] = x[c + 2 * i];
      sorted[c + lanes + i] = x[c + 2 * i + 1];
    }
  const std::size_t part = rows / together;
  for (std::size_t r = 0; r < part; ++r) multiply<together>(y + r, w + r * columns, sorted.data(), x, columns, part);
  for (std::size_t r = part * together; r < rows; ++r)
    multiply<1>(y + r, w + r * columns, sorted.data(), x, columns, 0);
}

}  // namespace lab10
