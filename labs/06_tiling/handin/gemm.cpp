// The matrix product on one core: correct but slow. In each of its k steps the innermost loop jumps a whole row ahead
// in b. It adds to a single number, so each addition waits for the previous one.
#include "tiling.hpp"

namespace lab06 {

void gemm(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  // TODO(lab06.gemm_throughput): first the order of the loops, then tiles: for the caches, and for the registers.
  for (std::size_t row = 0; row < m; ++row)
    for (std::size_t column = 0; column < n; ++column) {
      float sum = 0.0f;
      for (std::size_t i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
      c[row * n + column] = sum;
    }
}

}  // namespace lab06
