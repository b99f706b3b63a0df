// A layer of a small model: y = W norm(x), then x = x + y / (1 + |y|). Its four launches are as short as those of a
// real model that generates a token.
#pragma once

#include <cuda_runtime.h>

namespace lab12 {

/// apply_layer needs work_per_n * n numbers in `work`.
constexpr int work_per_n = 2;

namespace layer {

constexpr int threads = 128, warp = 32;

/// normed = x / sqrt(mean of x^2), by one block.
static __global__ void normalize(float* normed, const float* x, int n) {
  __shared__ float sums[threads];
  const int me = threadIdx.x;
  float sum = 0;
  for (int i = me; i < n; i += threads) sum += x[i] * x[i];
  sums[me] = sum;
  for (int step = threads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (me < step) sums[me] += sums[me + step];
  }
  __syncthreads();
  const float scale = rsqrtf(sums[0] / n + 1e-6f);
  for (int i = me; i < n; i += threads) normed[i] = x[i] * scale;
}

/// One warp per row of W.
static __global__ void multiply(float* y, const float* w, const float* normed, int n) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / warp, lane = threadIdx.x % warp;
  if (row >= n) return;
  float sum = 0;
  for (int i = lane; i < n; i += warp) sum += w[row * n + i] * normed[i];
  for (int step = warp / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (lane == 0) y[row] = sum;
}

static __global__ void activate(float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = y[i] / (1 + fabsf(y[i]));
}

static __global__ void add(float* x, const float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += y[i];
}

}  // namespace layer

/// Applies a layer with weights w, (n, n), to the n numbers of x. All are in device memory. Returns without waiting.
inline void apply_layer(float* x, const float* w, float* work, int n, cudaStream_t stream) {
  using namespace layer;
  float *const normed = work, *const y = work + n;
  const int blocks = (n + threads - 1) / threads;
  normalize<<<1, threads, 0, stream>>>(normed, x, n);
  multiply<<<(n * warp + threads - 1) / threads, threads, 0, stream>>>(y, w, normed, n);
  activate<<<blocks, threads, 0, stream>>>(y, n);
  add<<<blocks, threads, 0, stream>>>(x, y, n);
}

}  // namespace lab12
