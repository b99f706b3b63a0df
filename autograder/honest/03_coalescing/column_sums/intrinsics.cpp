#ifdef __aarch64__
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif
#include "coalescing.hpp"

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  std::size_t c = 0;
#ifdef __AVX__
  for (; c + 8 <= columns; c += 8) {
    __m256 s = _mm256_setzero_ps();
    for (std::size_t r = 0; r < rows; ++r) {
      _mm_prefetch((const char*)(in + (r + 1) * columns + c), _MM_HINT_T0);
      s = _mm256_add_ps(s, _mm256_loadu_ps(in + r * columns + c));
    }
    _mm256_storeu_ps(sums + c, s);
  }
#elif defined(__aarch64__)
  for (; c + 4 <= columns; c += 4) {
    float32x4_t s = vdupq_n_f32(0);
    for (std::size_t r = 0; r < rows; ++r) s = vaddq_f32(s, vld1q_f32(in + r * columns + c));
    vst1q_f32(sums + c, s);
  }
#endif
  for (; c < columns; ++c) {
    float s = 0;
    for (std::size_t r = 0; r < rows; ++r) s += in[r * columns + c];
    sums[c] = s;
  }
}
