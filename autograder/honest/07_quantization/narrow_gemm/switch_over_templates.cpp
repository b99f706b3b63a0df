#include <array>
#include <cstddef>
#include <utility>
#include "quantization.hpp"

template <std::size_t W>
static void run(float* c, const float* a, const float* b, std::size_t m, std::size_t k) {
  for (std::size_t i = 0; i < m; ++i) {
    std::array<float, W> s{};
    for (std::size_t p = 0; p < k; ++p)
      for (std::size_t j = 0; j < W; ++j) s[j] += a[i * k + p] * b[p * W + j];
    for (std::size_t j = 0; j < W; ++j) c[i * W + j] = s[j];
  }
}
template <std::size_t... W>
static bool any(std::index_sequence<W...>, float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  return ((n == W + 1 && (run<W + 1>(c, a, b, m, k), true)) || ...);
}
void lab07::narrow_gemm(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  any(std::make_index_sequence<64>(), c, a, b, m, n, k);
}
