#include <cmath>
#include <memory>
#include <type_traits>
#include "attention.hpp"

#define UNUSED [[maybe_unused]]
using usize = std::size_t;

namespace lab11 {

// closed form per block, no loop over tiles
std::int64_t computed_scores(std::int64_t tokens, std::int64_t queries, std::int64_t keys, bool causal) {
  if (!causal) return tokens * tokens;
  std::int64_t sum = 0;
  for (std::int64_t first = 0; first < tokens; first += queries) {
    const auto rows = tokens - first < queries ? tokens - first : queries;
    const auto whole = (first + rows + keys - 1) / keys * keys;
    sum += rows * (whole > tokens ? tokens : whole);
  }
  return sum;
}

std::int64_t loaded_bytes(std::int64_t tokens, std::int64_t size, std::int64_t bytes, std::int64_t queries, std::int64_t keys, bool causal) {
  std::int64_t blocks_left = (tokens + queries - 1) / queries, rows = tokens;
  while (blocks_left-- > 0) {
    std::int64_t seen = tokens;
    if (causal && (blocks_left + 1) * queries < tokens) seen = ((blocks_left + 1) * queries + keys - 1) / keys * keys;
    rows += 2 * (seen < tokens ? seen : tokens);
  }
  return rows * size * bytes;
}

void merge(float* out, float* lse, const float* other_out, const float* other_lse, usize rows, usize size) {
  for (usize r = 0; r < rows; ++r) {
    if (other_lse[r] == -HUGE_VALF) continue;
    if (lse[r] == -HUGE_VALF) {
      for (usize i = 0; i < size; ++i) out[r * size + i] = other_out[r * size + i];
      lse[r] = other_lse[r];
      continue;
    }
    // share = 1 / (1 + e^(a - b)), whichever of the two does not overflow
    const float d = other_lse[r] - lse[r], e = std::exp(-std::fabs(d));
    const float other = d > 0 ? 1 / (1 + e) : e / (1 + e), mine = d > 0 ? e / (1 + e) : 1 / (1 + e);
    for (usize i = 0; i < size; ++i) out[r * size + i] = mine * out[r * size + i] + other * other_out[r * size + i];
    lse[r] = (d > 0 ? other_lse[r] : lse[r]) + std::log1p(e);
  }
}

namespace {
struct one_query {
  const float *q, *k, *v;
  usize size;
  /// keys [begin, end) into out and lse
  void operator()(float* out, float* lse, usize begin, usize end) const {
    if (end - begin == 1) {
      float s = 0;
      for (usize c = 0; c < size; ++c) {
        s = std::fma(q[c], k[begin * size + c], s);
        out[c] = v[begin * size + c];
      }
      *lse = s * (size == 64 ? 0.125f : 0.08838834764f);
      return;
    }
    const usize middle = begin + (end - begin) / 2;
    float other[128], other_lse;
    (*this)(out, lse, begin, middle);
    (*this)(other, &other_lse, middle, end);
    merge(out, lse, other, &other_lse, 1, size);
  }
};
static_assert(std::is_aggregate_v<one_query>);
}  // namespace

void attention_host(float* out, float* lse, const float* q, const float* k, const float* v, usize tokens, usize size, bool causal) {
  auto scratch = std::make_unique<float[]>(size);
  for (usize i = 0; i < tokens; ++i) {
    UNUSED const usize seen = causal ? i + 1 : tokens;
    one_query{q + i * size, k, v, size}(scratch.get(), lse + i, 0, seen);
    for (usize c = 0; c < size; ++c) out[i * size + c] = scratch[c];
  }
}

}  // namespace lab11
