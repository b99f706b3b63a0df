// Without Eigen: keys in blocks, with a running maximum and sum, as in FlashAttention; sums by std::transform_reduce.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "forward.hpp"

namespace lab08 {

void attention_heads(float* out, const float* qkv, int tokens, int channels, int heads) {
  constexpr int together = 32;
  const auto size = static_cast<std::size_t>(channels / heads);
  const auto part = [&](int token, int which, std::size_t head) {
    return std::span(qkv + (static_cast<std::size_t>(token) * 3 + which) * channels + head * size, size);
  };
  for (std::size_t head = 0; head < static_cast<std::size_t>(heads); ++head)
    for (int t = 0; t < tokens; ++t) {
      const auto query = part(t, 0, head);
      const std::span own(out + static_cast<std::size_t>(t) * channels + head * size, size);
      std::ranges::fill(own, 0.0f);
      float largest = -std::numeric_limits<float>::infinity(), sum = 0;
      for (int first = 0; first <= t; first += together) {
        float scores[together];
        const int count = std::min(together, t + 1 - first);
        float most = largest;
        for (int i = 0; i < count; ++i) {
          const auto key = part(first + i, 1, head);
          scores[i] = std::inner_product(query.begin(), query.end(), key.begin(), 0.0f) / std::sqrt(float(size));
          most = std::max(most, scores[i]);
        }
        const float fade = std::exp(largest - most);
        largest = most;
        sum *= fade;
        for (float& one : own) one *= fade;
        for (int i = 0; i < count; ++i) {
          const float share = std::exp(scores[i] - most);
          const auto value = part(first + i, 2, head);
          sum += share;
          std::ranges::transform(own, value, own.begin(), [&](float a, float b) { return a + share * b; });
        }
      }
      for (float& one : own) one /= sum;
    }
}

void residual_norm(float* stream, float* normalized, const float* x, const float* y, const float* weight,
                   const float* bias, int rows, int channels) {
  const std::size_t all = channels;
  std::transform(x, x + rows * all, y, stream, std::plus<>());
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
    const std::span row(stream + r * all, all);
    const double mean = std::reduce(row.begin(), row.end(), 0.0) / channels;
    const double squares = std::transform_reduce(row.begin(), row.end(), 0.0, std::plus<>(),
                                                 [&](float v) { return (v - mean) * (v - mean); });
    const double factor = 1 / std::sqrt(squares / channels + 1e-5);
    for (std::size_t c = 0; c < all; ++c)
      normalized[r * all + c] = static_cast<float>((row[c] - mean) * factor * weight[c] + bias[c]);
  }
}

}  // namespace lab08
