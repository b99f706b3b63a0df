#include <stdlib.h>
#include <string.h>
#include "tiling.hpp"
/* C with macros: packed panels, and a kernel of 6 x 16 sums in GCC's vectors */
typedef float v8 __attribute__((vector_size(32), aligned(4)));
#define MR 6
#define NR 16
#define KC 256
#define NC 1024
#define MC 96
#define MIN(a, b) ((a) < (b) ? (a) : (b))
namespace lab06 {
static void micro(const float* __restrict__ ap, const float* __restrict__ bp, size_t kc, float* acc) {
  v8 s[MR][2];
  memset(s, 0, sizeof s);
  for (size_t p = 0; p < kc; p++, ap += MR, bp += NR) {
    v8 b0 = *(const v8*)bp, b1 = *(const v8*)(bp + 8);
#pragma GCC unroll 6
    for (int i = 0; i < MR; i++) {
      s[i][0] += ap[i] * b0;
      s[i][1] += ap[i] * b1;
    }
  }
  memcpy(acc, s, sizeof s);
}
void gemm(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  float* bp = (float*)aligned_alloc(64, sizeof(float) * KC * (NC + NR));
  float* ap = (float*)aligned_alloc(64, sizeof(float) * KC * (MC + 16));
  float acc[MR * NR];
  for (size_t jc = 0; jc < n; jc += NC) {
    size_t nc = MIN(NC, n - jc);
    for (size_t pc = 0; pc < k; pc += KC) {
      size_t kc = MIN(KC, k - pc);
      for (size_t j = 0; j < nc; j += NR)
        for (size_t p = 0; p < kc; p++)
          for (size_t q = 0; q < NR; q++)
            bp[j * kc + p * NR + q] = j + q < nc ? b[(pc + p) * n + jc + j + q] : 0.f;
      for (size_t ic = 0; ic < m; ic += MC) {
        size_t mc = MIN(MC, m - ic);
        for (size_t i = 0; i < mc; i += MR)
          for (size_t p = 0; p < kc; p++)
            for (size_t q = 0; q < MR; q++) ap[i * kc + p * MR + q] = i + q < mc ? a[(ic + i + q) * k + pc + p] : 0.f;
        for (size_t j = 0; j < nc; j += NR)
          for (size_t i = 0; i < mc; i += MR) {
            micro(ap + i * kc, bp + j * kc, kc, acc);
            for (size_t y = 0; y < MIN(MR, mc - i); y++)
              for (size_t x = 0; x < MIN(NR, nc - j); x++) {
                float* to = c + (ic + i + y) * n + jc + j + x;
                *to = acc[y * NR + x] + (pc ? *to : 0.f);
              }
          }
      }
    }
  }
  free(ap), free(bp);
}
}  // namespace lab06
