#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>
#include "quantization.hpp"

namespace {

constexpr std::size_t lanes = 8;
typedef float pack __attribute__((vector_size(lanes * sizeof(float))));

template <std::size_t Packs, std::size_t Rows>
void rows_of(float* c, const float* a, const pack* b, std::size_t n, std::size_t k) {
  std::array<std::array<pack, Packs>, Rows> sum{};
  for (std::size_t i = 0; i < k; ++i)
    [&]<std::size_t... R>(std::index_sequence<R...>) {
      (([&] {
         const float x = a[R * k + i];
         for (std::size_t p = 0; p < Packs; ++p) sum[R][p] += x * b[i * Packs + p];
       }()),
       ...);
    }(std::make_index_sequence<Rows>{});
  for (std::size_t r = 0; r < Rows; ++r)
    for (std::size_t j = 0; j < n; ++j) c[r * n + j] = sum[r][j / lanes][j % lanes];
}

template <std::size_t Packs>
void multiply(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  std::vector<pack> padded(Packs * k);
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < n; ++j) padded[i * Packs + j / lanes][j % lanes] = b[i * n + j];
  constexpr std::size_t rows = Packs <= 2 ? 4 : Packs <= 4 ? 2 : 1;
  std::size_t r = 0;
  for (; r + rows <= m; r += rows) rows_of<Packs, rows>(c + r * n, a + r * k, padded.data(), n, k);
  for (; r < m; ++r) rows_of<Packs, 1>(c + r * n, a + r * k, padded.data(), n, k);
}

using function = void (*)(float*, const float*, const float*, std::size_t, std::size_t, std::size_t);
constexpr auto table = []<std::size_t... P>(std::index_sequence<P...>) {
  return std::array<function, sizeof...(P)>{&multiply<P + 1>...};
}(std::make_index_sequence<8>{});

}  // namespace

void lab07::narrow_gemm(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  table.at((n + lanes - 1) / lanes - 1)(c, a, b, m, n, k);
}
