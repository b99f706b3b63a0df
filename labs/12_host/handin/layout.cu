// The same results in another order of accesses: attention, and totals that several cores write. Both are right, but
// wait for the slowest memory.
#include <algorithm>
#include <cmath>
#include <vector>

#include "host.hpp"

namespace lab12 {

void attention(float* out, const float* q, const float* k, const float* v, int tokens, int size) {
  // TODO(lab12.attention_misses): each query goes over all keys and all values. What is left of them in the cache when
  // the next query comes? Which queries could share a key while it is there?
  const float scale = 1.0f / std::sqrt(static_cast<float>(size));
  std::vector<float> weights(static_cast<std::size_t>(tokens));
  for (int i = 0; i < tokens; ++i) {
    float most = -INFINITY, sum = 0.0f;
    for (int j = 0; j < tokens; ++j) {
      float score = 0.0f;
      for (int c = 0; c < size; ++c) score += q[i * size + c] * k[j * size + c];
      weights[static_cast<std::size_t>(j)] = score * scale;
      most = std::max(most, score * scale);
    }
    for (float& w : weights) sum += w = std::exp(w - most);
    for (int c = 0; c < size; ++c) out[i * size + c] = 0.0f;
    for (int j = 0; j < tokens; ++j)
      for (int c = 0; c < size; ++c) out[i * size + c] += weights[static_cast<std::size_t>(j)] / sum * v[j * size + c];
  }
}

void count_positive(volatile std::int64_t* totals, const std::int32_t* x, std::size_t n, int worker, int workers) {
  // TODO(lab12.false_sharing): who else has a total on this line?
  const auto w = static_cast<std::size_t>(worker), all = static_cast<std::size_t>(workers);
  for (std::size_t i = n * w / all; i < n * (w + 1) / all; ++i)
    if (x[i] > 0) totals[w] = totals[w] + 1;
}

std::int64_t total_of(const volatile std::int64_t* totals, int worker, int) {
  return totals[static_cast<std::size_t>(worker)];
}

}  // namespace lab12
