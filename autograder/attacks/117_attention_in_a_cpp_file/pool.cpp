// No pool: attention, where the compiler counts no access.
#include <algorithm>
#include <cmath>

#include "host.hpp"

namespace lab12 {

void attention(float* out, const float* q, const float* k, const float* v, int tokens, int size) {
  for (int i = 0; i < tokens; ++i) {
    float most = -INFINITY, sum = 0, sums[64] = {};
    for (int j = 0; j < tokens; ++j) {
      float score = 0;
      for (int c = 0; c < size; ++c) score += q[i * size + c] * k[j * size + c];
      score /= std::sqrt(static_cast<float>(size));
      const float now = std::max(most, score), old = std::exp(most - now), weight = std::exp(score - now);
      most = now;
      sum = sum * old + weight;
      for (int c = 0; c < size; ++c) sums[c] = sums[c] * old + weight * v[j * size + c];
    }
    for (int c = 0; c < size; ++c) out[i * size + c] = sums[c] / sum;
  }
}

}  // namespace lab12
