// What tiles cost, results joined, and attention on one core, one score after the other.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attention.hpp"

namespace lab11 {
namespace {

/// Calls use(queries, keys) with the size of each tile of scores that is computed.
template <class Use>
void each_tile(std::int64_t tokens, std::int64_t queries, std::int64_t keys, bool causal, const Use& use) {
  for (std::int64_t q = 0; q < tokens; q += queries) {
    const std::int64_t end = std::min(q + queries, tokens), seen = causal ? end : tokens;
    for (std::int64_t k = 0; k < seen; k += keys) use(end - q, std::min(keys, tokens - k));
  }
}

}  // namespace

std::int64_t computed_scores(std::int64_t tokens, std::int64_t queries, std::int64_t keys, bool causal) {
  std::int64_t sum = 0;
  each_tile(tokens, queries, keys, causal, [&](std::int64_t q, std::int64_t k) { sum += q * k; });
  return sum;
}

std::int64_t loaded_bytes(std::int64_t tokens, std::int64_t size, std::int64_t bytes, std::int64_t queries,
                          std::int64_t keys, bool causal) {
  std::int64_t rows_loaded = tokens;  // of Q
  each_tile(tokens, queries, keys, causal, [&](std::int64_t, std::int64_t k) { rows_loaded += 2 * k; });
  return rows_loaded * size * bytes;
}

void merge(float* out, float* lse, const float* other_out, const float* other_lse, std::size_t rows, std::size_t size) {
  for (std::size_t r = 0; r < rows; ++r) {
    const float most = std::max(lse[r], other_lse[r]);
    if (std::isinf(most)) continue;  // no keys at all: out is 0, and stays 0
    const float mine = std::exp(lse[r] - most), others = std::exp(other_lse[r] - most), sum = mine + others;
    for (std::size_t i = 0; i < size; ++i)
      out[r * size + i] = (mine * out[r * size + i] + others * other_out[r * size + i]) / sum;
    lse[r] = most + std::log(sum);
  }
}

void attention_host(float* out, float* lse, const float* q, const float* k, const float* v, std::size_t tokens,
                    std::size_t size, bool causal) {
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
