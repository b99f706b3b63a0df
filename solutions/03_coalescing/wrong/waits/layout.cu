// The same few copies, each with another answer to one question: which element does the neighbouring lane touch?
#include <lab/device.hpp>

#include "coalescing.hpp"

namespace lab03 {
namespace {

constexpr int block_size = 256;

constexpr int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// Neighbouring lanes are `columns` floats apart: a request touches up to 32 sectors and uses 4 bytes of each.
__global__ void sigmoid_thread_per_row_kernel(float* out,       // (rows, columns)
                                              const float* in,  // (rows, columns)
                                              int rows, int columns) {
  const int r = blockIdx.x * block_size + threadIdx.x;
  if (r >= rows) return;
  for (int c = 0; c < columns; ++c) out[r * columns + c] = sigmoid(in[r * columns + c]);
}

//! [sigmoid_thread_per_column]
// Neighbouring lanes touch neighbouring floats: 128 bytes, 4 sectors, all of them used.
__global__ void sigmoid_thread_per_column_kernel(float* out,       // (rows, columns)
                                                 const float* in,  // (rows, columns)
                                                 int rows, int columns) {
  const int c = blockIdx.x * block_size + threadIdx.x;
  if (c >= columns) return;
  for (int r = 0; r < rows; ++r) out[r * columns + c] = sigmoid(in[r * columns + c]);
}
//! [sigmoid_thread_per_column]

__global__ void copy_strided_kernel(float* out,       // (n)
                                    const float* in,  // (n * stride)
                                    int n, int stride) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  if (i < n) out[i] = in[i * stride];
}

__global__ void copy_offset_kernel(float* out,       // (n)
                                   const float* in,  // (n + offset)
                                   int n, int offset) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  if (i < n) out[i] = in[i + offset];
}

//! [copy_vectorized]
// 32 lanes of 16 bytes: one request for 16 sectors does the work of four. Up to three floats are left over; they go to
// the threads behind the last float4.
__global__ void copy_vectorized_kernel(float* out,       // (n)
                                       const float* in,  // (n)
                                       int n) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  const int quads = n / 4;
  if (i < quads) {
    reinterpret_cast<float4*>(out)[i] = reinterpret_cast<const float4*>(in)[i];
  } else if (const int last = 4 * quads + (i - quads); last < n) {
    out[last] = in[last];
  }
}
//! [copy_vectorized]

//! [points_to_arrays]
// Straight from the points, three loads would each touch 12 sectors for 4 sectors' worth of data. So a block takes its
// points as a flat run of floats and picks x, y and z apart in shared memory, where a stride of 3 meets every bank
// once: 3 and 32 have no common divisor.
__global__ void points_to_arrays_kernel(float* x, float* y, float* z,  // (n) each
                                        const float* points,           // (n, 3)
                                        int n) {
  __shared__ float tile[3 * block_size];
  const int first = blockIdx.x * block_size;          // this block's first point,
  const int floats = 3 * min(block_size, n - first);  // and how many floats it and the rest are
  for (int i = threadIdx.x; i < floats; i += block_size) tile[i] = points[3 * first + i];
  __syncthreads();
  const int i = first + threadIdx.x;
  if (i >= n) return;
  x[i] = tile[3 * threadIdx.x];
  y[i] = tile[3 * threadIdx.x + 1];
  z[i] = tile[3 * threadIdx.x + 2];
}
//! [points_to_arrays]

}  // namespace

void sigmoid_thread_per_row(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  sigmoid_thread_per_row_kernel<<<ceil_div(rows, block_size), block_size, 0, stream>>>(out, in, rows, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void sigmoid_thread_per_column(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  sigmoid_thread_per_column_kernel<<<ceil_div(columns, block_size), block_size, 0, stream>>>(out, in, rows, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
  LAB_CUDA_CHECK(cudaDeviceSynchronize());
}

void copy_strided(float* out, const float* in, int n, int stride, cudaStream_t stream) {
  copy_strided_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(out, in, n, stride);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void copy_offset(float* out, const float* in, int n, int offset, cudaStream_t stream) {
  copy_offset_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(out, in, n, offset);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void copy_vectorized(float* out, const float* in, int n, cudaStream_t stream) {
  copy_vectorized_kernel<<<ceil_div(n / 4 + n % 4, block_size), block_size, 0, stream>>>(out, in, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void points_to_arrays(float* x, float* y, float* z, const float* points, int n, cudaStream_t stream) {
  points_to_arrays_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(x, y, z, points, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab03
