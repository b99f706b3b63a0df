// A product with few columns on one core. Rows of b are padded with zeros to whole vector registers, once; then a tile
// of rows x vectors sums stays in registers while it goes along k. The last register of a row may be mostly padding:
// the time goes up in steps of its width, and is flat in between.
#include <array>
#include <utility>
#include <vector>

#include "quantization.hpp"

namespace lab07 {
namespace {

#ifdef __AVX512F__
constexpr std::size_t lanes = 16, registers = 24;
#else
constexpr std::size_t lanes = 8, registers = 12;
#endif
// clang splits vectors of 64 bytes in two, unless told not to.
#ifdef __clang__
#define WHOLE_VECTORS __attribute__((min_vector_width(8 * lanes * sizeof(float))))
#else
#define WHOLE_VECTORS
#endif

constexpr std::size_t most_columns = 64, most_vectors = most_columns / lanes;
typedef float floats __attribute__((vector_size(lanes * sizeof(float)), aligned(4), may_alias));

/// Sums of `rows` rows of a with all of b, which is `vectors` registers wide. Loops over both are unrolled: a register
/// cannot be indexed.
template <std::size_t rows, std::size_t vectors>
WHOLE_VECTORS void multiply_rows(float* c, std::size_t n, const float* a, const float* b, std::size_t k) {
  floats sum[rows][vectors] = {};
  for (std::size_t i = 0; i < k; ++i) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < vectors; ++v) {
      const floats right = *reinterpret_cast<const floats*>(b + (i * vectors + v) * lanes);
#pragma GCC unroll 24
      for (std::size_t r = 0; r < rows; ++r) sum[r][v] += a[r * k + i] * right;
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    float row[vectors * lanes];
    for (std::size_t v = 0; v < vectors; ++v) *reinterpret_cast<floats*>(row + v * lanes) = sum[r][v];
    for (std::size_t column = 0; column < n; ++column) c[r * n + column] = row[column];
  }
}

template <std::size_t vectors>
void multiply(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  constexpr std::size_t rows = registers / vectors;
  std::size_t r = 0;
  for (; r + rows <= m; r += rows) multiply_rows<rows, vectors>(c + r * n, n, a + r * k, b, k);
  for (; r < m; ++r) multiply_rows<1, vectors>(c + r * n, n, a + r * k, b, k);
}

template <std::size_t... i>
constexpr auto all_widths(std::index_sequence<i...>) {
  return std::array{multiply<i + 1>...};
}

}  // namespace

void narrow_gemm(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  constexpr auto by_width = all_widths(std::make_index_sequence<most_vectors>());
  const std::size_t vectors = (n - 1) / lanes + 1, width = vectors * lanes;
  std::vector<float> padded(k * width);
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t column = 0; column < n; ++column) padded[i * width + column] = b[i * n + column];
  by_width[vectors - 1](c, a, padded.data(), m, n, k);
}

}  // namespace lab07
