#include "accounting.hpp"
#ifdef __x86_64__
#include <immintrin.h>
#endif
#include <algorithm>
#include <array>
#include <span>

namespace lab01 {

void triad(float* __restrict a, const float* __restrict b, const float* __restrict c, float scale, std::size_t n) {
  std::span out{a, n};
  std::span<const float> x{b, n}, y{c, n};
  std::size_t i = 0;
#ifdef __AVX2__
  const __m256 s = _mm256_set1_ps(scale);
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(a + i, _mm256_add_ps(_mm256_loadu_ps(b + i), _mm256_mul_ps(s, _mm256_loadu_ps(c + i))));
#endif
  for (; i < n; ++i) out[i] = x[i] + scale * y[i];
}

template <std::size_t W>
static void chains(float* out, const float* in, const float* c, std::int64_t rounds) {
  std::array<float, W> x, y;
  std::copy_n(in, W, x.begin());
  std::copy_n(c, W, y.begin());
  for (std::int64_t k = 0; k < rounds; ++k)
    for (std::size_t j = 0; j < W; ++j) x[j] = x[j] * x[j] + y[j];
  std::ranges::copy(x, out);
}

void fma_chains(float* out, const float* in, const float* c, std::size_t n, std::int64_t rounds) {
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) chains<64>(out + i, in + i, c + i, rounds);
  for (; i + 8 <= n; i += 8) chains<8>(out + i, in + i, c + i, rounds);
  for (; i < n; ++i) chains<1>(out + i, in + i, c + i, rounds);
}

}  // namespace lab01
