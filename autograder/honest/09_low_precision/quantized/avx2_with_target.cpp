#ifdef __x86_64__
#include <immintrin.h>
#endif
#include "low_precision.hpp"

namespace {

constexpr std::size_t G = lab09::int_group;

#ifdef __x86_64__
[[gnu::target("avx2,fma")]] inline float hsum(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

[[gnu::target("avx2,fma")]] float int8_row(const std::int8_t* q, const float* scale, const float* x, std::size_t columns) {
  __m256 total = _mm256_setzero_ps();
  for (std::size_t g = 0; g < columns / G; ++g) {
    __m256 sum = _mm256_setzero_ps();
    for (std::size_t i = g * G; i < (g + 1) * G; i += 8) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(q + i));
      sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)), _mm256_loadu_ps(x + i), sum);
    }
    total = _mm256_fmadd_ps(sum, _mm256_broadcast_ss(scale + g), total);
  }
  return hsum(total);
}

[[gnu::target("avx2,fma")]] float int4_row(const std::uint8_t* q, const float* scale, const float* x, std::size_t columns) {
  __m256 total = _mm256_setzero_ps();
  const __m256i low = _mm256_set1_epi32(15), eight = _mm256_set1_epi32(8);
  for (std::size_t g = 0; g < columns / G; ++g) {
    __m256 sum = _mm256_setzero_ps();
    for (std::size_t i = 0; i < G / 2; i += 8) {
      const __m256i both = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(q + g * G / 2 + i)));
      const __m256 a = _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_and_si256(both, low), eight));
      const __m256 b = _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(both, 4), eight));
      sum = _mm256_fmadd_ps(a, _mm256_loadu_ps(x + g * G + i), sum);
      sum = _mm256_fmadd_ps(b, _mm256_loadu_ps(x + g * G + G / 2 + i), sum);
    }
    total = _mm256_fmadd_ps(sum, _mm256_broadcast_ss(scale + g), total);
  }
  return hsum(total);
}
#else
float int8_row(const std::int8_t* q, const float* scale, const float* x, std::size_t columns) {
  float total = 0;
  for (std::size_t g = 0; g < columns / G; ++g) {
    float sum = 0;
    for (std::size_t i = g * G; i < (g + 1) * G; ++i) sum += q[i] * x[i];
    total += sum * scale[g];
  }
  return total;
}

float int4_row(const std::uint8_t* q, const float* scale, const float* x, std::size_t columns) {
  float total = 0;
  for (std::size_t g = 0; g < columns / G; ++g) {
    float sum = 0;
    for (std::size_t i = 0; i < G / 2; ++i) {
      const int both = q[g * G / 2 + i];
      sum += ((both & 15) - 8) * x[g * G + i] + ((both >> 4) - 8) * x[g * G + G / 2 + i];
    }
    total += sum * scale[g];
  }
  return total;
}
#endif

}  // namespace

void lab09::matvec_int8(float* y, const std::int8_t* q, const float* scale, const float* x, std::size_t rows, std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r) y[r] = int8_row(q + r * columns, scale + r * (columns / G), x, columns);
}

void lab09::matvec_int4(float* y, const std::uint8_t* q, const float* scale, const float* x, std::size_t rows, std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r) y[r] = int4_row(q + r * columns / 2, scale + r * (columns / G), x, columns);
}
