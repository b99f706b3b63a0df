// A product with few columns on one core: correct but slow. A register holds 8 or 16 floats of a row, and this loop
// uses one of them.
#include "quantization.hpp"

namespace lab07 {

void narrow_gemm(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  // TODO(lab07.narrow_throughput): how many registers is a row of c wide? Pad b to that, once, and keep sums in them.
  for (std::size_t row = 0; row < m; ++row)
    for (std::size_t column = 0; column < n; ++column) {
      float sum = 0.0f;
      for (std::size_t i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
      c[row * n + column] = sum;
    }
}

}  // namespace lab07
