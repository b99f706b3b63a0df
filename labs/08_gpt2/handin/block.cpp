// Two blocks on the CPU. These loops are right, and use one number at a time; Eigen's expressions use whole vectors.
// Replace them step by step: they say what each result must be.
#include <algorithm>
#include <cmath>
#include <vector>

#include "eigen.hpp"
#include "forward.hpp"

namespace lab08 {
namespace {

// Eigen's matrices are column-major unless told otherwise; those of the contract are row-major. A Map is a view of
// memory that it does not own: input(x, rows, channels) copies nothing.
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using input = Eigen::Map<const matrix>;

}  // namespace

void attention_heads(float* out, const float* qkv, int tokens, int channels, int heads) {
  // TODO(lab08.attention_heads_throughput): a head's columns as a Map with an outer stride; two products without
  // temporaries; softmax in place. Then: a row that sees t + 1 tokens needs no scores for the others.
  const int size = channels / heads;
  const auto at = [&](int token, int part, int column) {  // part 0: queries, 1: keys, 2: values
    return qkv[(static_cast<std::ptrdiff_t>(token) * 3 + part) * channels + column];
  };
  std::vector<float> shares(static_cast<std::size_t>(tokens));
  for (int first = 0; first < channels; first += size)
    for (int t = 0; t < tokens; ++t) {
      float largest = -INFINITY, sum = 0.0f;
      for (int u = 0; u <= t; ++u) {
        float product = 0.0f;
        for (int c = first; c < first + size; ++c) product += at(t, 0, c) * at(u, 1, c);
        shares[u] = product / std::sqrt(static_cast<float>(size));
        largest = std::max(largest, shares[u]);
      }
      for (int u = 0; u <= t; ++u) sum += shares[u] = std::exp(shares[u] - largest);
      for (int c = first; c < first + size; ++c) {
        float mixed = 0.0f;
        for (int u = 0; u <= t; ++u) mixed += shares[u] / sum * at(u, 2, c);
        out[static_cast<std::ptrdiff_t>(t) * channels + c] = mixed;
      }
    }
}

void residual_norm(float* stream, float* normalized, const float* x, const float* y, const float* weight,
                   const float* bias, int rows, int channels) {
  // TODO(lab08.residual_norm_throughput): sums and distances by expressions over a row. How many times does each number
  // go through memory if an expression covers the whole matrix? And if it covers one row?
  const input before(x, rows, channels), change(y, rows, channels);
  Eigen::Map<matrix> sums(stream, rows, channels), out(normalized, rows, channels);
  for (int r = 0; r < rows; ++r) {
    float mean = 0.0f, variance = 0.0f;
    for (int c = 0; c < channels; ++c) mean += sums(r, c) = before(r, c) + change(r, c);
    mean /= static_cast<float>(channels);
    for (int c = 0; c < channels; ++c) variance += (sums(r, c) - mean) * (sums(r, c) - mean);
    const float factor = 1.0f / std::sqrt(variance / static_cast<float>(channels) + 1e-5f);
    for (int c = 0; c < channels; ++c) out(r, c) = (sums(r, c) - mean) * factor * weight[c] + bias[c];
  }
}

}  // namespace lab08
