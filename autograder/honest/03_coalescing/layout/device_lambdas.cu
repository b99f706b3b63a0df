#include "coalescing.hpp"
#include <algorithm>
#include <type_traits>
#include <utility>
namespace lab03 {
namespace {
template <class F>
__global__ void parallel_for(int n, F f) {
  if (const int i = std::min<int>(blockIdx.x * blockDim.x + threadIdx.x, n); i < n) f(i);
}
template <class F>
void launch(int n, cudaStream_t stream, F&& f) {
  parallel_for<<<(n + 255) / 256, 256, 0, stream>>>(n, std::forward<F>(f));
}
struct sigmoid {
  __device__ float operator()(float x) const { return 1.0f / (1.0f + expf(-x)); }
};
template <int points_per_block>
__global__ void split(float* x, float* y, float* z, const float* points, int n) {
  __shared__ float xyz[3][points_per_block];
  const int first = blockIdx.x * points_per_block;
  const int count = min(points_per_block, n - first);
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    const int j = k * points_per_block + threadIdx.x;
    if (j < 3 * count) xyz[j % 3][j / 3] = points[3 * first + j];
  }
  __syncthreads();
  if (const int t = threadIdx.x; t < count) {
    x[first + t] = xyz[0][t];
    y[first + t] = xyz[1][t];
    z[first + t] = xyz[2][t];
  }
}
}  // namespace
void sigmoid_thread_per_row(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  launch(rows, stream, [=] __device__(int r) {
    for (int c = 0; c < columns; ++c) out[r * columns + c] = sigmoid{}(in[r * columns + c]);
  });
}
void sigmoid_thread_per_column(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  launch(columns, stream, [=] __device__(int c) {
    for (int r = 0; r < rows; ++r) out[r * columns + c] = sigmoid{}(in[r * columns + c]);
  });
}
void copy_strided(float* out, const float* in, int n, int stride, cudaStream_t stream) {
  launch(n, stream, [=] __device__(int i) { out[i] = in[i * stride]; });
}
void copy_offset(float* out, const float* in, int n, int offset, cudaStream_t stream) {
  launch(n, stream, [=] __device__(int i) { out[i] = in[i + offset]; });
}
void copy_vectorized(float* out, const float* in, int n, cudaStream_t stream) {
  launch((n + 3) / 4, stream, [=] __device__(int i) {
    if (4 * i + 3 < n)
      reinterpret_cast<float4*>(out)[i] = reinterpret_cast<const float4*>(in)[i];
    else
      for (int j = 4 * i; j < n; ++j) out[j] = in[j];
  });
}
void points_to_arrays(float* x, float* y, float* z, const float* points, int n, cudaStream_t stream) {
  split<128><<<(n + 127) / 128, 128, 0, stream>>>(x, y, z, points, n);
}
}  // namespace lab03
