// The matrix product on one core. Tiles again, one for each level: a strip of B and one of A that stay in L2, a panel
// of B's (384 x 32) about as large as L1, and 12 x 32 sums (6 x 16 without AVX-512) in registers. Both strips are first
// copied into the order in which they will be read, padded with zeros, so that the innermost loop walks straight on and
// has no edges. The sizes, and what the rungs below reach: WORKLOG.md.
#include <algorithm>
#include <vector>

#include "tiling.hpp"

namespace lab06 {
namespace {

#ifdef __AVX512F__
constexpr std::size_t lanes = 16, rows = 12;
#else
constexpr std::size_t lanes = 8, rows = 6;
#endif
// clang splits vectors of 64 bytes in two, unless told not to: with twice as many sums as registers, 0.45 of the speed.
#ifdef __clang__
#define WHOLE_VECTORS __attribute__((min_vector_width(8 * lanes * sizeof(float))))
#else
#define WHOLE_VECTORS
#endif

constexpr std::size_t vectors = 2, columns = vectors * lanes;
typedef float floats __attribute__((vector_size(lanes * sizeof(float)), aligned(4), may_alias));

constexpr std::size_t depth = 384;          // of a strip, along k
constexpr std::size_t strip_columns = 512;  // of B: 768 KiB
constexpr std::size_t strip_rows = 96;      // of A: 144 KiB

/// Element (i, r) of panel p of A's strip: a(r0 + p * rows + r, i). Rows beyond the last are zero.
void pack_a(float* to, const float* a, std::size_t k, std::size_t height, std::size_t count) {
  for (std::size_t r0 = 0; r0 < height; r0 += rows)
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t r = 0; r < rows; ++r) *to++ = r0 + r < height ? a[(r0 + r) * k + i] : 0.0f;
}

/// The same for B, along its columns.
void pack_b(float* to, const float* b, std::size_t n, std::size_t width, std::size_t count) {
  for (std::size_t q0 = 0; q0 < width; q0 += columns)
    for (std::size_t i = 0; i < count; ++i) {
      const float* const from = b + i * n + q0;
      const std::size_t inside = std::min(columns, width - q0);
      std::fill(std::copy_n(from, inside, to), to + columns, 0.0f);
      to += columns;
    }
}

/// rows x columns elements of C, in registers while `count` columns of A and rows of B go by. Each loop over r and v is
/// unrolled: a register cannot be indexed.
WHOLE_VECTORS void multiply_panels(float* c, std::size_t n, const float* a, const float* b, std::size_t count,
                                   std::size_t height, std::size_t width, bool first) {
  floats sum[rows][vectors] = {};
  for (std::size_t i = 0; i < count; ++i) {
    floats right[vectors];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < vectors; ++v) right[v] = *reinterpret_cast<const floats*>(b + i * columns + v * lanes);
#pragma GCC unroll 12
    for (std::size_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (std::size_t v = 0; v < vectors; ++v) sum[r][v] += a[i * rows + r] * right[v];
  }
  if (height == rows && width == columns) {
#pragma GCC unroll 12
    for (std::size_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (std::size_t v = 0; v < vectors; ++v) {
        floats* const to = reinterpret_cast<floats*>(c + r * n + v * lanes);
        *to = first ? sum[r][v] : *to + sum[r][v];
      }
    return;
  }
  float all[rows * columns];
#pragma GCC unroll 12
  for (std::size_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (std::size_t v = 0; v < vectors; ++v) *reinterpret_cast<floats*>(all + r * columns + v * lanes) = sum[r][v];
  for (std::size_t r = 0; r < height; ++r)
    for (std::size_t q = 0; q < width; ++q) c[r * n + q] = all[r * columns + q] + (first ? 0.0f : c[r * n + q]);
}

}  // namespace

void gemm(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  static_assert(strip_rows % rows == 0 && strip_columns % columns == 0);
  std::vector<float> packed_a(strip_rows * depth), packed_b(strip_columns * depth);
  for (std::size_t q0 = 0; q0 < n; q0 += strip_columns) {
    const std::size_t width = std::min(strip_columns, n - q0);
    for (std::size_t i0 = 0; i0 < k; i0 += depth) {
      const std::size_t count = std::min(depth, k - i0);
      pack_b(packed_b.data(), b + i0 * n + q0, n, width, count);
      for (std::size_t r0 = 0; r0 < m; r0 += strip_rows) {
        const std::size_t height = std::min(strip_rows, m - r0);
        pack_a(packed_a.data(), a + r0 * k + i0, k, height, count);
        for (std::size_t q = 0; q < width; q += columns)
          for (std::size_t r = 0; r < height; r += rows)
            multiply_panels(c + (r0 + r) * n + q0 + q, n, packed_a.data() + r * count, packed_b.data() + q * count,
                            count, std::min(rows, height - r), std::min(columns, width - q), i0 == 0);
      }
    }
  }
}

}  // namespace lab06
