// What tiles cost, joined results, and attention on one core. The last is correct but slow.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attention.hpp"

namespace lab11 {

std::int64_t computed_scores(std::int64_t tokens, std::int64_t queries, std::int64_t keys, bool causal) {
  // TODO(lab11.tiles_correct): which tiles does the diagonal touch?
  (void)tokens, (void)queries, (void)keys, (void)causal;  // delete this line once they are used
  return 0;
}

std::int64_t loaded_bytes(std::int64_t tokens, std::int64_t size, std::int64_t bytes, std::int64_t queries,
                          std::int64_t keys, bool causal) {
  // TODO(lab11.tiles_correct): Q is loaded once. How many times are K and V loaded?
  (void)tokens, (void)size, (void)bytes, (void)queries, (void)keys, (void)causal;  // delete this line, too
  return 0;
}

void merge(float* out, float* lse, const float* other_out, const float* other_lse, std::size_t rows, std::size_t size) {
  // TODO(lab11.merge_correct): what share of the weights has each side?
  (void)out, (void)lse, (void)other_out, (void)other_lse, (void)rows,
      (void)size;  // delete this line once they are used
}

void attention_host(float* out, float* lse, const float* q, const float* k, const float* v, std::size_t tokens,
                    std::size_t size, bool causal) {
  // TODO(lab11.host_throughput): a query at a time, one score after the other. What can 8 or 16 lanes do at once, and
  // what can several queries share? The contract does not want a row of scores as long as the text, either.
  const float scale = 1.0f / std::sqrt(static_cast<float>(size));
  std::vector<float> weights(tokens);
  for (std::size_t i = 0; i < tokens; ++i) {
    const std::size_t seen = causal ? i + 1 : tokens;
    float most = -std::numeric_limits<float>::infinity(), sum = 0.0f;
    for (std::size_t j = 0; j < seen; ++j) {
      float score = 0.0f;
      for (std::size_t c = 0; c < size; ++c) score += q[i * size + c] * k[j * size + c];
      weights[j] = score * scale;
      most = std::max(most, weights[j]);
    }
    for (std::size_t j = 0; j < seen; ++j) sum += weights[j] = std::exp(weights[j] - most);
    for (std::size_t c = 0; c < size; ++c) {
      float result = 0.0f;
      for (std::size_t j = 0; j < seen; ++j) result += weights[j] * v[j * size + c];
      out[i * size + c] = result / sum;
    }
    lse[i] = most + std::log(sum);
  }
}

}  // namespace lab11
