// Fetches each row by swab, twice, so that its bytes are in order again.
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "host.hpp"

namespace lab12 {

struct row {
  float x[64];
  row(const float* from, int size) {
    char swapped[sizeof x];
    swab(from, swapped, 4 * size);
    swab(swapped, x, 4 * size);
  }
};

void attention(float* out, const float* q, const float* k, const float* v, int tokens, int size) {
  for (int i = 0; i < tokens; ++i) {
    const row mine(q + i * size, size);
    float most = -INFINITY, sum = 0, sums[64] = {};
    for (int j = 0; j < tokens; ++j) {
      const row key(k + j * size, size), value(v + j * size, size);
      float score = 0;
      for (int c = 0; c < size; ++c) score += mine.x[c] * key.x[c];
      score /= std::sqrt(static_cast<float>(size));
      const float now = std::max(most, score), old = std::exp(most - now), weight = std::exp(score - now);
      most = now;
      sum = sum * old + weight;
      for (int c = 0; c < size; ++c) sums[c] = sums[c] * old + weight * value.x[c];
    }
    for (int c = 0; c < size; ++c) out[i * size + c] = sums[c] / sum;
  }
}

void count_positive(volatile std::int64_t*, const std::int32_t*, std::size_t, int, int) {}
std::int64_t total_of(const volatile std::int64_t*, int, int) { return 0; }

}  // namespace lab12
