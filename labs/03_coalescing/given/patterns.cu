// Given, not handed in: the experiments for your predictions. Which sectors does a warp ask for, and which banks does
// it access?
#include "coalescing.hpp"

namespace lab03 {
namespace {

constexpr int block_size = 256;

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__global__ void copy_strided_kernel(float* out, const float* in, int n, int stride) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i * stride];
}

__global__ void copy_offset_kernel(float* out, const float* in, int n, int offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i + offset];
}

__global__ void sigmoid_thread_per_row_kernel(float* out, const float* in, int rows, int columns) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  for (int c = 0; c < columns; ++c) out[r * columns + c] = 1.0f / (1.0f + expf(-in[r * columns + c]));
}

__global__ void transpose_naive_kernel(float* out,       // (columns, rows)
                                       const float* in,  // (rows, columns)
                                       int rows, int columns) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;  // the lanes of a warp: neighbours in a row of `in`
  const int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < columns) out[c * rows + r] = in[r * columns + c];
}

// One warp reads the columns of a tile in shared memory. Change the pitch (floats from one row to the next) and the
// same 32 reads access one bank, or two, or all 32.
__global__ void read_tile_columns_kernel(float* out, const float* in, int pitch) {
  extern __shared__ float tile[];  // (32, pitch)
  const int lane = threadIdx.x;
  for (int r = 0; r < 32; ++r) tile[r * pitch + lane] = in[r * 32 + lane];  // along a row: always 32 banks
  __syncthreads();
  for (int c = 0; c < 32; ++c) out[c * 32 + lane] = tile[lane * pitch + c];  // down a column: which banks?
}

}  // namespace

void copy_strided(float* out, const float* in, int n, int stride, cudaStream_t stream) {
  copy_strided_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(out, in, n, stride);
}

void copy_offset(float* out, const float* in, int n, int offset, cudaStream_t stream) {
  copy_offset_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(out, in, n, offset);
}

void sigmoid_thread_per_row(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  sigmoid_thread_per_row_kernel<<<ceil_div(rows, block_size), block_size, 0, stream>>>(out, in, rows, columns);
}

void transpose_naive(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const dim3 grid(ceil_div(columns, 32), ceil_div(rows, 8));
  transpose_naive_kernel<<<grid, dim3(32, 8), 0, stream>>>(out, in, rows, columns);
}

void read_tile_columns(float* out, const float* in, int pitch, cudaStream_t stream) {
  read_tile_columns_kernel<<<1, 32, 32 * pitch * sizeof(float), stream>>>(out, in, pitch);
}

}  // namespace lab03
