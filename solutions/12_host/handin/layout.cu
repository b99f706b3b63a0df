// Attention in blocks that fit in a small cache, and a line for each worker's total.
#include <algorithm>
#include <cmath>

#include "host.hpp"

namespace lab12 {
namespace {

constexpr int queries = 64, keys = 32, most_size = 64;

/// What a query needs to remember between blocks of keys: the online softmax of lab 11.
struct block {
  float scores[queries][keys];
  float sums[queries][most_size];
  float most[queries], total[queries];
};

//! [block]
/// Takes `nk` more keys and values into account, for `nq` queries.
void add_keys(block& b, const float* q, const float* k, const float* v, int nq, int nk, int size, float scale) {
  for (int i = 0; i < nq; ++i) {
    float most = b.most[i];
    for (int j = 0; j < nk; ++j) {
      float score = 0.0f;
      for (int c = 0; c < size; ++c) score += q[i * size + c] * k[j * size + c];
      b.scores[i][j] = score * scale;
      most = std::max(most, score * scale);
    }
    const float old = std::exp(b.most[i] - most);  // 0 at first
    b.most[i] = most;
    b.total[i] *= old;
    for (int c = 0; c < size; ++c) b.sums[i][c] *= old;
    for (int j = 0; j < nk; ++j) {
      const float weight = std::exp(b.scores[i][j] - most);
      b.total[i] += weight;
      for (int c = 0; c < size; ++c) b.sums[i][c] += weight * v[j * size + c];
    }
  }
}
//! [block]

}  // namespace

void attention(float* out, const float* q, const float* k, const float* v, int tokens, int size) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(size));
  block b;
  for (int first = 0; first < tokens; first += queries) {
    const int nq = std::min(queries, tokens - first);
    for (int i = 0; i < nq; ++i) {
      b.most[i] = -INFINITY;
      b.total[i] = 0.0f;
      for (int c = 0; c < size; ++c) b.sums[i][c] = 0.0f;
    }
    for (int key = 0; key < tokens; key += keys)
      add_keys(b, q + first * size, k + key * size, v + key * size, nq, std::min(keys, tokens - key), size, scale);
    for (int i = 0; i < nq; ++i)
      for (int c = 0; c < size; ++c) out[(first + i) * size + c] = b.sums[i][c] / b.total[i];
  }
}

//! [totals]
constexpr std::size_t line = 64 / sizeof(std::int64_t);

void count_positive(volatile std::int64_t* totals, const std::int32_t* x, std::size_t n, int worker, int workers) {
  const auto w = static_cast<std::size_t>(worker), all = static_cast<std::size_t>(workers);
  std::int64_t total = 0;
  for (std::size_t i = n * w / all; i < n * (w + 1) / all; ++i)
    if (x[i] > 0) totals[line * w] = ++total;
}
//! [totals]

std::int64_t total_of(const volatile std::int64_t* totals, int worker, int) {
  return totals[line * static_cast<std::size_t>(worker)];
}

}  // namespace lab12
