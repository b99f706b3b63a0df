#ifdef __x86_64__
#include <immintrin.h>
#endif
#include "tiling.hpp"

typedef void (*row_fn)(float*, const float*, const float*, std::size_t, std::size_t);

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) static void row_avx2(float* c, const float* a, const float* b, std::size_t n, std::size_t k) {
  std::size_t j = 0;
  for (; j + 8 <= n; j += 8) {
    __m256 s = _mm256_setzero_ps();
    for (std::size_t p = 0; p < k; ++p) s = _mm256_fmadd_ps(_mm256_set1_ps(a[p]), _mm256_loadu_ps(b + p * n + j), s);
    _mm256_storeu_ps(c + j, s);
  }
  for (; j < n; ++j) {
    float s = 0;
    for (std::size_t p = 0; p < k; ++p) s += a[p] * b[p * n + j];
    c[j] = s;
  }
}
#endif
static void row_plain(float* c, const float* a, const float* b, std::size_t n, std::size_t k) {
  for (std::size_t j = 0; j < n; ++j) c[j] = 0;
  for (std::size_t p = 0; p < k; ++p)
    for (std::size_t j = 0; j < n; ++j) c[j] += a[p] * b[p * n + j];
}

void lab06::gemm(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
#ifdef __x86_64__
  static const row_fn row = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? row_avx2 : row_plain;
#else
  static const row_fn row = row_plain;
#endif
  for (std::size_t i = 0; i < m; ++i) row(c + i * n, a + i * k, b, n, k);
}
