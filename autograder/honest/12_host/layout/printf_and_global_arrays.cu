// C with global arrays and a debugging line left in.
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <iostream>

#include "host.hpp"

#define BQ 48
static float acc[BQ][64], top[BQ], den[BQ];
static int verbose;

#define EACH(i, n) for (int i = 0; i < (n); i++)

void lab12::attention(float* out, const float* q, const float* k, const float* v, int tokens, int size) {
  assert(size <= 64);
  if (verbose) printf("attention %d x %d\n", tokens, size);
  if (verbose > 1) std::cerr << "tokens " << tokens << ", size " << size << std::endl;
  const double scale = 1 / sqrt((double)size);
  for (int b = 0; b < tokens; b += BQ) {
    int n = tokens - b < BQ ? tokens - b : BQ;
    memset(acc, 0, sizeof acc);
    EACH(i, n) {
      top[i] = -HUGE_VALF;
      den[i] = 0;
    }
    EACH(j, tokens) EACH(i, n) {
      const float *x = q + (b + i) * size, *y = k + j * size;
      double s = 0;
      EACH(c, size) s += x[c] * y[c];
      float score = (float)(s * scale), old = 1, w = 1;
      if (score > top[i]) {
        old = expf(top[i] - score);
        top[i] = score;
      } else
        w = expf(score - top[i]);
      den[i] = den[i] * old + w;
      EACH(c, size) acc[i][c] = acc[i][c] * old + w * v[j * size + c];
    }
    EACH(i, n) EACH(c, size) out[(b + i) * size + c] = acc[i][c] / den[i];
  }
}

void lab12::count_positive(volatile int64_t* totals, const int32_t* x, size_t n, int worker, int workers) {
  volatile int64_t* mine = totals + worker * (bytes_per_worker / sizeof *totals) + 7;
  size_t i = n * worker / workers, end = n * (worker + 1) / workers;
  while (i < end)
    if (x[i++] > 0) ++*mine;
}

int64_t lab12::total_of(const volatile int64_t* totals, int worker, int) {
  return totals[worker * (bytes_per_worker / sizeof *totals) + 7];
}
