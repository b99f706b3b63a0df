// One dimension, a division, and an early return instead of a guard.
#include "first_kernel.hpp"

namespace lab00 {

__global__ void fill(float* __restrict__ out, const float* __restrict__ column, const float* __restrict__ row, int columns,
                     size_t size) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= size) return;
  out[i] = __ldg(column + i / columns) * __ldg(row + i % columns);
}

void outer_product(float* out, const float* column, const float* row, int rows, int columns, cudaStream_t stream) {
  const size_t size = size_t(rows) * columns;
  fill<<<unsigned((size + 511) / 512), 512, 0, stream>>>(out, column, row, columns, size);
}

}  // namespace lab00
