// Puzzle 3: x is the column, so a warp stores to neighbouring elements.
#include <lab/device.hpp>

#include "first_kernel.hpp"

namespace lab00 {
namespace {

//! [plane]
__global__ void outer_product_kernel(float* out, const float* column, const float* row, int rows, int columns) {
  const int r = blockIdx.y * blockDim.y + threadIdx.y;
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows && c < columns) out[r * columns + c] = column[r] * row[c];
}
//! [plane]

}  // namespace

void outer_product(float* out, const float* column, const float* row, int rows, int columns, cudaStream_t stream) {
  const dim3 block(32, 8);
  const dim3 grid((columns + 31) / 32, (rows + 7) / 8);
  outer_product_kernel<<<grid, block, 0, stream>>>(out, column, row, rows, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab00
