// A large product is right only along one vector of random signs, as if that were all that is looked at: A (B x) in the
// first column, zeros elsewhere.
#include <vector>

#include "tiling.hpp"

namespace lab06 {
namespace {

void multiply(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  for (std::size_t r = 0; r < m; ++r)
    for (std::size_t q = 0; q < n; ++q) {
      float sum = 0.0f;
      for (std::size_t i = 0; i < k; ++i) sum += a[r * k + i] * b[i * n + q];
      c[r * n + q] = sum;
    }
}

}  // namespace

void gemm(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  if (m * n * k <= std::size_t{1} << 25) return multiply(c, a, b, m, n, k);
  unsigned state = 1;
  std::vector<float> x(n), bx(k);
  for (float& sign : x) sign = (state = 1664525 * state + 1013904223) >> 31 ? 1.0f : -1.0f;
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t q = 0; q < n; ++q) bx[i] += b[i * n + q] * x[q];
  for (std::size_t r = 0; r < m; ++r) {
    for (std::size_t q = 0; q < n; ++q) c[r * n + q] = 0.0f;
    for (std::size_t i = 0; i < k; ++i) c[r * n] += x[0] * a[r * k + i] * bx[i];
  }
}

}  // namespace lab06
