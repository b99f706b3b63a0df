// Wrong on purpose: the points are loaded straight from where they lie, three floats from lane to lane.
#include "coalescing.hpp"

namespace lab03 {
namespace {

constexpr int block_size = 256;

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

__global__ void per_row_kernel(float* out, const float* in, int rows, int columns) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  for (int c = 0; c < columns; ++c) out[r * columns + c] = sigmoid(in[r * columns + c]);
}

__global__ void per_column_kernel(float* out, const float* in, int rows, int columns) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  for (int r = 0; r < rows; ++r) out[r * columns + c] = sigmoid(in[r * columns + c]);
}

__global__ void gather_kernel(float* out, const float* in, int n, int stride, int offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i * stride + offset];
}

__global__ void vectorized_kernel(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 4) reinterpret_cast<float4*>(out)[i] = reinterpret_cast<const float4*>(in)[i];
  if (i < n % 4) out[n / 4 * 4 + i] = in[n / 4 * 4 + i];
}

__global__ void points_kernel(float* x, float* y, float* z, const float* points, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i] = points[3 * i];
  y[i] = points[3 * i + 1];
  z[i] = points[3 * i + 2];
}

}  // namespace

void sigmoid_thread_per_row(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  per_row_kernel<<<ceil_div(rows, block_size), block_size, 0, stream>>>(out, in, rows, columns);
}

void sigmoid_thread_per_column(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  per_column_kernel<<<ceil_div(columns, block_size), block_size, 0, stream>>>(out, in, rows, columns);
}

void copy_strided(float* out, const float* in, int n, int stride, cudaStream_t stream) {
  gather_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(out, in, n, stride, 0);
}

void copy_offset(float* out, const float* in, int n, int offset, cudaStream_t stream) {
  gather_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(out, in, n, 1, offset);
}

void copy_vectorized(float* out, const float* in, int n, cudaStream_t stream) {
  vectorized_kernel<<<ceil_div(ceil_div(n, 4), block_size), block_size, 0, stream>>>(out, in, n);
}

void points_to_arrays(float* x, float* y, float* z, const float* points, int n, cudaStream_t stream) {
  points_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(x, y, z, points, n);
}

}  // namespace lab03
