// What tiles cost, joined results, and attention on one core. As on a device, the scores of a few queries and a tile of
// keys stay close: 12 x 256 of them (6 x 256 without AVX-512) in L1, between two products whose sums are in registers.
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

// ---- vectors ------------------------------------------------------------------------------------------------------

#ifdef __AVX512F__
constexpr std::size_t lanes = 16, rows = 12;
#else
constexpr std::size_t lanes = 8, rows = 6;
#endif
#ifdef __clang__
#define WHOLE_VECTORS __attribute__((min_vector_width(8 * lanes * sizeof(float))))
#else
#define WHOLE_VECTORS
#endif

constexpr std::size_t vectors = 2, columns = vectors * lanes;
constexpr std::size_t keys = 256;  // in a tile
typedef float floats __attribute__((vector_size(lanes * sizeof(float)), aligned(4), may_alias));
typedef std::int32_t ints __attribute__((vector_size(lanes * sizeof(float)), aligned(4), may_alias));

floats load(const float* from) { return *reinterpret_cast<const floats*>(from); }
void store(float* to, floats x) { *reinterpret_cast<floats*>(to) = x; }

/// 2^x for x <= 0, to seven digits; 0 below 2^-126. x = n + r with |r| <= 1/2, and 2^r by the first terms of its
/// series.
floats power_of_2(floats x) {
  const floats shift = floats{} + 0x1.8p23f;
  const auto tiny = x < -126.0f;
  x = tiny ? floats{} - 126.0f : x;
  const floats shifted = x + shift, r = x - (shifted - shift);
  floats sum = floats{} + 1.535336188e-4f;
  for (const float term : {1.339887440e-3f, 9.618437357e-3f, 5.550332548e-2f, 2.402264791e-1f, 6.931472028e-1f, 1.0f})
    sum = sum * r + term;
  const ints n = reinterpret_cast<const ints&>(shifted) << 23;
  const ints bits = reinterpret_cast<const ints&>(sum) + n;
  return tiny ? floats{} : reinterpret_cast<const floats&>(bits);
}

// ---- products -----------------------------------------------------------------------------------------------------

/// sums (rows, columns) += a (rows, count) b (count, columns); rows of `a` and `b` are `a_pitch` and `b_pitch` apart.
/// The sums stay in registers: a register cannot be indexed, so loops over them are unrolled.
WHOLE_VECTORS void multiply(float* sums, std::size_t pitch, const float* a, std::size_t a_pitch, const float* b,
                            std::size_t b_pitch, std::size_t count, bool first) {
  floats sum[rows][vectors];
#pragma GCC unroll 12
  for (std::size_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (std::size_t v = 0; v < vectors; ++v) sum[r][v] = first ? floats{} : load(sums + r * pitch + v * lanes);
  for (std::size_t i = 0; i < count; ++i) {
    floats right[vectors];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < vectors; ++v) right[v] = load(b + i * b_pitch + v * lanes);
#pragma GCC unroll 12
    for (std::size_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (std::size_t v = 0; v < vectors; ++v) sum[r][v] += a[r * a_pitch + i] * right[v];
  }
#pragma GCC unroll 12
  for (std::size_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (std::size_t v = 0; v < vectors; ++v) store(sums + r * pitch + v * lanes, sum[r][v]);
}

std::size_t padded(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

/// k transposed, in panels of `columns` keys, the last one padded with zeros.
std::vector<float> transposed(const float* k, std::size_t tokens, std::size_t size) {
  std::vector<float> panels(padded(tokens, columns) * size);
  for (std::size_t j = 0; j < tokens; ++j)
    for (std::size_t i = 0; i < size; ++i) panels[(j / columns * size + i) * columns + j % columns] = k[j * size + i];
  return panels;
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
  //! [merge]
  for (std::size_t r = 0; r < rows; ++r) {
    const float most = std::max(lse[r], other_lse[r]);
    if (std::isinf(most)) continue;  // no keys at all: out is 0, and stays 0
    const float mine = std::exp(lse[r] - most), others = std::exp(other_lse[r] - most), sum = mine + others;
    for (std::size_t i = 0; i < size; ++i)
      out[r * size + i] = (mine * out[r * size + i] + others * other_out[r * size + i]) / sum;
    lse[r] = most + std::log(sum);
  }
  //! [merge]
}

void attention_host(float* out, float* lse, const float* q, const float* k, const float* v, std::size_t tokens,
                    std::size_t size, bool causal) {
  const std::vector<float> panels = transposed(k, tokens, size);
  const float scale = 1.44269504f / std::sqrt(static_cast<float>(size));  // e^x = 2^(x log2(e))
  std::vector<float> queries(rows * size), scores(rows * keys), sums(rows * size);
  for (std::size_t q0 = 0; q0 < tokens; q0 += rows) {
    const std::size_t height = std::min(rows, tokens - q0), seen = causal ? q0 + height : tokens;
    for (std::size_t i = 0; i < rows * size; ++i) queries[i] = i < height * size ? q[q0 * size + i] * scale : 0.0f;
    float most[rows], total[rows] = {};
    std::fill(most, most + rows, -std::numeric_limits<float>::infinity());
    for (std::size_t k0 = 0; k0 < seen; k0 += keys) {
      const std::size_t width = std::min(keys, seen - k0), whole = padded(width, columns);
      for (std::size_t j = 0; j < whole; j += columns)
        multiply(&scores[j], keys, queries.data(), size, &panels[(k0 + j) * size], columns, size, true);
      for (std::size_t r = 0; r < rows; ++r) {
        float* row = &scores[r * keys];
        for (std::size_t j = width; j < whole; ++j) row[j] = -std::numeric_limits<float>::infinity();
        if (causal)
          for (std::size_t j = q0 + r < k0 ? 0 : q0 + r - k0 + 1; j < width; ++j)
            row[j] = -std::numeric_limits<float>::infinity();
        floats highest = load(row);
        for (std::size_t j = lanes; j < whole; j += lanes) highest = highest > load(row + j) ? highest : load(row + j);
        float now = most[r];
        for (std::size_t l = 0; l < lanes; ++l) now = std::max(now, highest[l]);
        if (std::isinf(now)) now = 0.0f;  // a row of padding that sees no key yet
        floats sum = {};
        for (std::size_t j = 0; j < whole; j += lanes) {
          const floats weight = power_of_2(load(row + j) - now);
          store(row + j, weight);
          sum += weight;
        }
        const float kept = std::exp2(most[r] - now);  // of what was summed up so far
        total[r] *= kept;
        for (std::size_t l = 0; l < lanes; ++l) total[r] += sum[l];
        if (kept != 1.0f)
          for (std::size_t i = 0; i < size; ++i) sums[r * size + i] *= kept;
        most[r] = now;
      }
      for (std::size_t i = 0; i < size; i += columns)
        multiply(&sums[i], size, scores.data(), keys, v + k0 * size + i, size, width, k0 == 0);
    }
    for (std::size_t r = 0; r < height; ++r) {
      for (std::size_t i = 0; i < size; ++i) out[(q0 + r) * size + i] = sums[r * size + i] / total[r];
      lse[q0 + r] = 0.69314718f * (most[r] + std::log2(total[r]));
    }
  }
}

}  // namespace lab11
