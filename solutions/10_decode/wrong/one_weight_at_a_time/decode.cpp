// What a token costs, and the product of a bf16 matrix and a vector on one core.
#include "decode.hpp"

#include <cstring>

namespace lab10 {

namespace {

std::int64_t of_heads(const shape& s, std::int64_t heads) { return heads * s.size; }

/// Weights of all matrices; each is in one multiply-add.
std::int64_t matrix_weights(const shape& s) {
  const std::int64_t width = s.width, hidden = s.hidden;
  const std::int64_t layer =
      width * (of_heads(s, s.heads + 2 * s.kv_heads) + of_heads(s, s.heads)) + 3 * width * hidden;
  return s.layers * layer + s.vocabulary * width;
}

}  // namespace

std::int64_t weight_bytes(const shape& s) {
  const std::int64_t norms = (2 * s.layers + 1) * std::int64_t{s.width};
  return 2 * (matrix_weights(s) + norms);
}

std::int64_t cache_bytes(const shape& s, std::int64_t tokens) {
  return 2 * 2 * tokens * s.layers * of_heads(s, s.kv_heads);
}

std::int64_t token_bytes(const shape& s, std::int64_t position) {
  return weight_bytes(s) + cache_bytes(s, position) + cache_bytes(s, 1);
}

double intensity(const shape& s, std::int64_t position) {
  const std::int64_t attention = 2 * s.layers * of_heads(s, s.heads) * (position + 1);
  return 2 * static_cast<double>(matrix_weights(s) + attention) / static_cast<double>(token_bytes(s, position));
}

double least_seconds(const shape& s, std::int64_t position, double bytes_per_second) {
  return static_cast<double>(token_bytes(s, position)) / bytes_per_second;
}

void matvec_host(float* y, const std::uint16_t* w, const float* x, std::size_t rows, std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r) {
    float sum = 0.0f;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::uint32_t bits = std::uint32_t{w[r * columns + c]} << 16;
      float weight;
      std::memcpy(&weight, &bits, sizeof weight);
      sum += weight * x[c];
    }
    y[r] = sum;
  }
}

}  // namespace lab10
