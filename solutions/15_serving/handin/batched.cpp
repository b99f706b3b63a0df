// A product of a matrix and several vectors, on one core. Some rows at a time are multiplied by all vectors, so the
// weights come from memory once. The numbers of the vectors are copied in the order of their use, once for all rows.
#include "serving.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace lab15 {

namespace {

// As many sums as fit into registers, with the weights of the rows and one piece of a vector: 24 of 32, 12 of 16.
#ifdef __AVX512F__
constexpr std::size_t lanes = 16, vectors_together = 8;
#elif defined(__AVX__)
constexpr std::size_t lanes = 8, vectors_together = 4;
#else
constexpr std::size_t lanes = 4, vectors_together = 4;
#endif
constexpr std::size_t rows_together = 3;
using piece [[gnu::vector_size(lanes * sizeof(float))]] = float;

piece load(const float* from, std::size_t count = lanes) {
  piece v = {};
  std::memcpy(&v, from, count * sizeof(float));
  return v;
}

/// y(b) = W x(b) for some rows and vectors; y(b) and y(b + 1) are `stride` apart.
template <std::size_t rows, std::size_t batch>
void multiply(float* y, const float* w, const piece* x, std::size_t columns, std::size_t stride) {
  piece sums[rows][batch] = {};
  const auto add = [&](std::size_t c, std::size_t count) {
    piece weights[rows];
    for (std::size_t r = 0; r < rows; ++r) weights[r] = load(w + r * columns + c, count);
    for (std::size_t b = 0; b < batch; ++b, ++x)
      for (std::size_t r = 0; r < rows; ++r) sums[r][b] += weights[r] * *x;
  };
  std::size_t c = 0;
  for (; c + lanes <= columns; c += lanes) add(c, lanes);
  if (c < columns) add(c, columns - c);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t b = 0; b < batch; ++b) {
      float sum = 0.0f;
      for (std::size_t i = 0; i < lanes; ++i) sum += sums[r][b][i];
      y[b * stride + r] = sum;
    }
}

template <std::size_t rows>
void multiply(float* y, const float* w, const piece* x, std::size_t columns, std::size_t stride, std::size_t batch) {
  [&]<std::size_t... n>(std::index_sequence<n...>) {
    ((batch == n + 1 ? multiply<rows, n + 1>(y, w, x, columns, stride) : void()), ...);
  }
  (std::make_index_sequence<vectors_together>());
}

}  // namespace

void batched_matvec(float* y, const float* w, const float* x, std::size_t batch, std::size_t rows,
                    std::size_t columns) {
  //! [order_of_use]
  std::vector<piece> sorted;
  for (std::size_t b = 0; b < batch; b += vectors_together)
    for (std::size_t c = 0; c < columns; c += lanes)
      for (std::size_t i = b; i < std::min(b + vectors_together, batch); ++i)
        sorted.push_back(load(x + i * columns + c, std::min(lanes, columns - c)));
  //! [order_of_use]
  const std::size_t pieces = (columns + lanes - 1) / lanes;
  for (std::size_t r = 0; r < rows;) {
    const std::size_t together = r + rows_together <= rows ? rows_together : 1;
    for (std::size_t b = 0; b < batch; b += vectors_together) {
      const auto run = together == 1 ? multiply<1> : multiply<rows_together>;
      run(y + b * rows + r, w + r * columns, sorted.data() + b * pieces, columns, rows,
          std::min(vectors_together, batch - b));
    }
    r += together;
  }
}

}  // namespace lab15
