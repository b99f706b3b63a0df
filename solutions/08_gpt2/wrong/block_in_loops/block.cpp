// The loops of the skeleton in the order in which the compiler makes vectors of the innermost one, without Eigen.
#include <algorithm>
#include <cmath>
#include <vector>

#include "forward.hpp"

namespace lab08 {

void attention_heads(float* out, const float* qkv, int tokens, int channels, int heads) {
  const std::size_t n = static_cast<std::size_t>(tokens), all = static_cast<std::size_t>(channels), size = all / heads;
  const float scale = 1.0f / std::sqrt(static_cast<float>(size));
  std::vector<float> keys(size * n), shares(n);
  std::fill(out, out + n * all, 0.0f);
  for (std::size_t first = 0; first < all; first += size) {
    for (std::size_t u = 0; u < n; ++u)
      for (std::size_t c = 0; c < size; ++c) keys[c * n + u] = qkv[(3 * u + 1) * all + first + c];
    for (std::size_t t = 0; t < n; ++t) {
      std::fill(shares.begin(), shares.end(), 0.0f);
      for (std::size_t c = 0; c < size; ++c) {
        const float query = qkv[3 * t * all + first + c];
        for (std::size_t u = 0; u <= t; ++u) shares[u] += query * keys[c * n + u];
      }
      float largest = -INFINITY, sum = 0.0f;
      for (std::size_t u = 0; u <= t; ++u) largest = std::max(largest, shares[u]);
      for (std::size_t u = 0; u <= t; ++u) sum += shares[u] = std::exp((shares[u] - largest) * scale);
      for (std::size_t u = 0; u <= t; ++u)
        for (std::size_t c = 0; c < size; ++c)
          out[t * all + first + c] += shares[u] / sum * qkv[(3 * u + 2) * all + first + c];
    }
  }
}

void residual_norm(float* stream, float* normalized, const float* x, const float* y, const float* weight,
                   const float* bias, int rows, int channels) {
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    float mean = 0.0f, variance = 0.0f;
    float* const sums = stream + r * channels;
    for (int c = 0; c < channels; ++c) sums[c] = x[r * channels + c] + y[r * channels + c];
    for (int c = 0; c < channels; ++c) mean += sums[c];
    mean /= static_cast<float>(channels);
    for (int c = 0; c < channels; ++c) variance += (sums[c] - mean) * (sums[c] - mean);
    const float factor = 1.0f / std::sqrt(variance / static_cast<float>(channels) + 1e-5f);
    for (int c = 0; c < channels; ++c) normalized[r * channels + c] = (sums[c] - mean) * factor * weight[c] + bias[c];
  }
}

}  // namespace lab08
