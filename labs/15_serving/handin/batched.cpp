// A product of a matrix and several vectors, on one core. The skeleton is right, and reads the weights for each vector.
#include "serving.hpp"

namespace lab15 {

void batched_matvec(float* y, const float* w, const float* x, std::size_t batch, std::size_t rows,
                    std::size_t columns) {
  // TODO(lab15.batched_throughput): each weight comes from memory once. How long does it have to stay?
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t r = 0; r < rows; ++r) {
      constexpr std::size_t lanes = 8;
      float sums[lanes] = {};
      for (std::size_t c = 0; c < columns; c += lanes)
        for (std::size_t i = 0; i < lanes; ++i) sums[i] += w[r * columns + c + i] * x[b * columns + c + i];
      float sum = 0.0f;
      for (const float one : sums) sum += one;
      y[b * rows + r] = sum;
    }
}

}  // namespace lab15
