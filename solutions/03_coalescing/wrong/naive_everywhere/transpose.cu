// Wrong on purpose: every transpose is the naive one, so each store request touches 32 sectors.
#include "coalescing.hpp"

namespace lab03 {
namespace {

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__global__ void naive_kernel(float* out, const float* in, int rows, int columns) {
  const int c = blockIdx.x * 32 + threadIdx.x;
  const int r = blockIdx.y * 8 + threadIdx.y;
  if (r < rows && c < columns) out[c * rows + r] = in[r * columns + c];
}

}  // namespace

void transpose_naive(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const dim3 grid(ceil_div(columns, 32), ceil_div(rows, 8));
  naive_kernel<<<grid, dim3(32, 8), 0, stream>>>(out, in, rows, columns);
}

void transpose_tiled(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const dim3 grid(ceil_div(columns, 32), ceil_div(rows, 8));
  naive_kernel<<<grid, dim3(32, 8), 0, stream>>>(out, in, rows, columns);
}

void transpose_padded(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const dim3 grid(ceil_div(columns, 32), ceil_div(rows, 8));
  naive_kernel<<<grid, dim3(32, 8), 0, stream>>>(out, in, rows, columns);
}

void transpose(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const dim3 grid(ceil_div(columns, 32), ceil_div(rows, 8));
  naive_kernel<<<grid, dim3(32, 8), 0, stream>>>(out, in, rows, columns);
}

}  // namespace lab03
