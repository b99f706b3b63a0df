// A product of a matrix and several vectors, on one core. The weights pass once, in pieces that stay in the first cache
// until all vectors have used them; each piece of the vectors is used for many rows.
#include "serving.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace lab15 {

namespace {

#ifdef __AVX512F__
constexpr std::size_t lanes = 16;
#else
constexpr std::size_t lanes = 8;
#endif
typedef float vector __attribute__((vector_size(lanes * sizeof(float))));

constexpr std::size_t piece = 512;  // columns
constexpr std::size_t rows_at_a_time = 32;
constexpr std::size_t most_together = 8;  // vectors

vector load(const float* from) {
  vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

float total(vector v) {
  float sum = 0.0f;
  for (std::size_t i = 0; i < lanes; ++i) sum += v[i];
  return sum;
}

/// Adds to y the products of `rows` rows and `batch` vectors, over `count` columns.
template <std::size_t rows, std::size_t batch>
void multiply(float* y, const float* w, const float* x, std::size_t count, std::size_t columns, std::size_t all_rows) {
  vector sums[rows][batch] = {};
  std::size_t c = 0;
  for (; c + lanes <= count; c += lanes) {
    vector weights[rows];
    for (std::size_t r = 0; r < rows; ++r) weights[r] = load(w + r * columns + c);
    for (std::size_t b = 0; b < batch; ++b) {
      const vector of_x = load(x + b * columns + c);
      for (std::size_t r = 0; r < rows; ++r) sums[r][b] += weights[r] * of_x;
    }
  }
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t b = 0; b < batch; ++b) {
      float sum = total(sums[r][b]);
      for (std::size_t i = c; i < count; ++i) sum += w[r * columns + i] * x[b * columns + i];
      y[b * all_rows + r] += sum;
    }
}

template <std::size_t batch>
void multiply_rows(float* y, const float* w, const float* x, std::size_t rows, std::size_t count, std::size_t columns,
                   std::size_t all_rows) {
  constexpr std::size_t together = lanes == 16 ? 2 : 1;
  std::size_t r = 0;
  for (; r + together <= rows; r += together)
    multiply<together, batch>(y + r, w + r * columns, x, count, columns, all_rows);
  for (; r < rows; ++r) multiply<1, batch>(y + r, w + r * columns, x, count, columns, all_rows);
}

}  // namespace

void batched_matvec(float* y, const float* w, const float* x, std::size_t batch, std::size_t rows,
                    std::size_t columns) {
  std::fill_n(y, batch * rows, 0.0f);
  for (std::size_t r = 0; r < rows; r += rows_at_a_time)
    for (std::size_t c = 0; c < columns; c += piece) {
      const std::size_t some = std::min(rows_at_a_time, rows - r), count = std::min(piece, columns - c);
      for (std::size_t b = 0; b < batch; b += most_together) {
        const std::size_t together = std::min(most_together, batch - b);
        const auto run = [&]<std::size_t... n>(std::index_sequence<n...>) {
          ((together == n + 1 ? multiply_rows<n + 1>(y + b * rows + r, w + r * columns + c, x + b * columns + c, some,
                                                     count, columns, rows)
                              : void()),
           ...);
        };
        run(std::make_index_sequence<most_together>());
      }
    }
}

}  // namespace lab15
