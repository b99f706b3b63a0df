// A product of any sizes at nearly the speed of aligned ones: what the library cannot read fast is copied once into
// rows that start at multiples of 16 bytes.
#include "quantization.hpp"

namespace lab07 {
namespace {

constexpr int lanes = 32, rows_of_block = 8;
constexpr int steps = 8;      // a thread keeps 8 elements under way, or latency decides and not bandwidth
constexpr int alignment = 8;  // elements of 2 bytes in 16 bytes

int ceil_div(int a, int b) { return (a - 1) / b + 1; }
int aligned(int side) { return ceil_div(side, alignment) * alignment; }

// out (to_rows, to_columns) = in where that has an element, else 0. A warp copies a part of a row, 64 bytes at a time;
// rows go along the grid's x, which may be 2^31 long.
__global__ void copy_kernel(bf16* out, const bf16* in, int to_rows, int to_columns, int from_rows, int from_columns,
                            int from_stride) {
  const int row = blockIdx.x * rows_of_block + threadIdx.y, first = blockIdx.y * (lanes * steps) + threadIdx.x;
  if (row >= to_rows || first >= to_columns) return;
  //! [copy]
  bf16 values[steps];
#pragma unroll
  for (int i = 0; i < steps; ++i) {
    const int column = first + i * lanes;
    values[i] = row < from_rows && column < from_columns ? in[row * from_stride + column] : __float2bfloat16(0.0f);
  }
#pragma unroll
  for (int i = 0; i < steps; ++i) {
    const int column = first + i * lanes;
    if (column < to_columns) out[row * to_columns + column] = values[i];
  }
  //! [copy]
}

void copy(bf16* out, const bf16* in, int to_rows, int to_columns, int from_rows, int from_columns, int from_stride,
          cudaStream_t stream) {
  const dim3 blocks(ceil_div(to_rows, rows_of_block), ceil_div(to_columns, lanes * steps));
  copy_kernel<<<blocks, dim3(lanes, rows_of_block), 0, stream>>>(out, in, to_rows, to_columns, from_rows, from_columns,
                                                                 from_stride);
}

}  // namespace

void pad(bf16* out, const bf16* in, int rows, int columns, int padded_rows, int padded_columns, cudaStream_t stream) {
  copy(out, in, padded_rows, padded_columns, rows, columns, columns, stream);
}

void unpad(bf16* out, const bf16* in, int rows, int columns, int padded_columns, cudaStream_t stream) {
  copy(out, in, rows, columns, rows, columns, padded_columns, stream);
}

//! [padded_gemm]
// Rows of a are k long, rows of b and c are n long: m needs no padding. The padding of k must be zero on both sides, as
// 0 times NaN is NaN; the padding of n only makes columns of c that unpad leaves behind.
void padded_gemm(bf16* c, const bf16* a, const bf16* b, bf16* workspace, int m, int n, int k, cudaStream_t stream) {
  const int wide_n = aligned(n), wide_k = aligned(k);
  bf16* const wide_a = workspace;
  bf16* const wide_b = wide_a + static_cast<std::int64_t>(m) * wide_k;
  // Each begins at a multiple of 16 bytes, because the one before it has whole rows of 16 bytes.
  bf16* const wide_c = wide_b + static_cast<std::int64_t>(wide_k);
  if (k != wide_k) pad(wide_a, a, m, k, m, wide_k, stream);
  if (k != wide_k || n != wide_n) pad(wide_b, b, k, n, wide_k, wide_n, stream);
  product(n == wide_n ? c : wide_c, wide_n, k == wide_k ? a : wide_a, wide_k, k == wide_k && n == wide_n ? b : wide_b,
          wide_n, m, wide_n, wide_k, stream);
  if (n != wide_n) unpad(c, wide_c, m, n, wide_n, stream);
}
//! [padded_gemm]

}  // namespace lab07
