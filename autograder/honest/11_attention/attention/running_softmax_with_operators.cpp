#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>
#include "attention.hpp"

namespace {

struct vec {
  std::vector<float> x;
  explicit vec(std::size_t n) : x(n) {}
  vec(const float* from, std::size_t n) : x(from, from + n) {}
  friend vec operator*(float a, vec v) {
    for (float& one : v.x) one *= a;
    return v;
  }
  friend vec operator+(vec a, const vec& b) {
    std::transform(a.x.begin(), a.x.end(), b.x.begin(), a.x.begin(), std::plus<>());
    return a;
  }
  vec& operator+=(const vec& o) { return *this = std::move(*this) + o; }
};

/// What a query has seen; two of them add up.
class seen {
 public:
  explicit seen(std::size_t size) : sum_(size) {}
  seen(float score, const float* value, std::size_t size) : most_(score), weights_(1), sum_(value, size) {}
  seen(float lse, vec out) : most_(lse), weights_(std::isinf(lse) ? 0 : 1), sum_(std::move(out)) {}
  seen& operator+=(const seen& o) {
    const float top = std::max(most_, o.most_);
    if (std::isinf(top)) return *this;
    const float mine = std::exp(most_ - top), others = std::exp(o.most_ - top);
    most_ = top;
    weights_ = mine * weights_ + others * o.weights_;
    sum_ = mine * std::move(sum_) + others * o.sum_;
    return *this;
  }
  void put(float* out, float& lse) const {
    for (std::size_t i = 0; i < sum_.x.size(); ++i) out[i] = weights_ > 0 ? sum_.x[i] / weights_ : 0;
    lse = weights_ > 0 ? most_ + std::log(weights_) : -std::numeric_limits<float>::infinity();
  }

 private:
  float most_ = -std::numeric_limits<float>::infinity(), weights_ = 0;
  vec sum_;
};

template <class T>
T up(T a, T b) {
  return (a + b - 1) / b;
}

/// For each block of queries: how many, and how many keys it meets.
template <class Use>
void for_blocks(std::int64_t tokens, std::int64_t queries, std::int64_t keys, bool causal, Use use) {
  for (std::int64_t b = 0; b < up(tokens, queries); ++b) {
    const std::int64_t last = std::min(tokens, (b + 1) * queries);
    const std::int64_t tiles = up(causal ? last : tokens, keys);
    use(last - b * queries, std::min(tiles * keys, tokens));
  }
}

}  // namespace

namespace lab11 {

std::int64_t computed_scores(std::int64_t tokens, std::int64_t queries, std::int64_t keys, bool causal) {
  std::int64_t all = 0;
  for_blocks(tokens, queries, keys, causal, [&](auto q, auto k) { all += q * k; });
  return all;
}

std::int64_t loaded_bytes(std::int64_t tokens, std::int64_t size, std::int64_t bytes, std::int64_t queries, std::int64_t keys, bool causal) {
  std::int64_t rows = 0;
  for_blocks(tokens, queries, keys, causal, [&](auto q, auto k) { rows += q + 2 * k; });
  return rows * size * bytes;
}

void merge(float* out, float* lse, const float* other_out, const float* other_lse, std::size_t rows, std::size_t size) {
  for (std::size_t r = 0; r < rows; ++r, out += size, other_out += size) {
    seen both(lse[r], vec(out, size));
    both += seen(other_lse[r], vec(other_out, size));
    both.put(out, lse[r]);
  }
}

void attention_host(float* out, float* lse, const float* q, const float* k, const float* v, std::size_t tokens, std::size_t size, bool causal) {
  for (std::size_t i = 0; i < tokens; ++i) {
    seen row(size);
    for (std::size_t j = 0; j < (causal ? i + 1 : tokens); ++j) {
      float dot = 0;
      for (std::size_t c = 0; c < size; ++c) dot += q[i * size + c] * k[j * size + c];
      row += seen(dot / std::sqrt(static_cast<float>(size)), v + j * size, size);
    }
    row.put(out + i * size, lse[i]);
  }
}

}  // namespace lab11
