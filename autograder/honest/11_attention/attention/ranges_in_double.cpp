#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>
#include <span>
#include <vector>
#include "attention.hpp"

namespace lab11 {

namespace rv = std::views;
using std::int64_t;

static auto keys_of_blocks(int64_t tokens, int64_t queries, int64_t keys, bool causal) {
  return rv::iota(int64_t{0}, (tokens - 1) / queries + 1) | rv::transform([=](int64_t b) {
           const int64_t seen = causal ? std::min(tokens, (b + 1) * queries) : tokens;
           return std::min((seen - 1) / keys * keys + keys, tokens);
         });
}

int64_t computed_scores(int64_t tokens, int64_t queries, int64_t keys, bool causal) {
  int64_t b = 0, sum = 0;
  for (const int64_t k : keys_of_blocks(tokens, queries, keys, causal)) sum += std::min(queries, tokens - queries * b++) * k;
  return sum;
}

int64_t loaded_bytes(int64_t tokens, int64_t size, int64_t bytes, int64_t queries, int64_t keys, bool causal) {
  const auto each = keys_of_blocks(tokens, queries, keys, causal);
  return (tokens + 2 * std::accumulate(each.begin(), each.end(), int64_t{0})) * size * bytes;
}

void merge(float* out, float* lse, const float* other_out, const float* other_lse, std::size_t rows, std::size_t size) {
  for (const std::size_t r : rv::iota(std::size_t{0}, rows)) {
    const double a = lse[r], b = other_lse[r], top = std::fmax(a, b);
    if (top == -INFINITY) continue;
    const double wa = std::exp(a - top), wb = std::exp(b - top);
    const std::span mine(out + r * size, size), other(const_cast<float*>(other_out) + r * size, size);
    std::ranges::transform(mine, other, mine.begin(), [=](double x, double y) { return static_cast<float>((wa * x + wb * y) / (wa + wb)); });
    lse[r] = static_cast<float>(top + std::log(wa + wb));
  }
}

void attention_host(float* out, float* lse, const float* q, const float* k, const float* v, std::size_t tokens, std::size_t size, bool causal) {
  const auto row = [size](const float* m, std::size_t i) { return std::span(m + i * size, size); };
  std::vector<double> scores, sums(size);
  for (std::size_t i = 0; i < tokens; ++i) {
    const auto seen = rv::iota(std::size_t{0}, causal ? i + 1 : tokens);
    scores.clear();
    std::ranges::transform(seen, std::back_inserter(scores), [&](std::size_t j) {
      const auto a = row(q, i), b = row(k, j);
      return std::inner_product(a.begin(), a.end(), b.begin(), 0.0) / std::sqrt(static_cast<double>(size));
    });
    const double most = *std::ranges::max_element(scores);
    std::ranges::for_each(scores, [most](double& s) { s = std::exp(s - most); });
    const double total = std::reduce(scores.begin(), scores.end());
    std::ranges::fill(sums, 0.0);
    for (const std::size_t j : seen)
      for (std::size_t c = 0; const float x : row(v, j)) sums[c++] += scores[j] * x;
    std::ranges::transform(sums, out + i * size, [total](double s) { return static_cast<float>(s / total); });
    lse[i] = static_cast<float>(most + std::log(total));
  }
}

}  // namespace lab11
