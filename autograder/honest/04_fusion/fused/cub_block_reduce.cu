#include <cub/cub.cuh>
#include <cuda/std/functional>
#include "fusion.hpp"

namespace {

__device__ __forceinline__ float gelu1(float x) {
  const float u = 0.79788456f * (x + 0.044715f * x * x * x);
  return x / (1.f + __expf(-2.f * fmaxf(u, -43.f)));
}

__global__ void sincos_kernel(float* __restrict__ out, const float* __restrict__ in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float s, c;
    sincosf(__ldg(in + i), &s, &c);
    out[i] = s * s + c * c;
  }
}

template <int ROWS>
__global__ void bgr_kernel(float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ bias,
                           const float* __restrict__ residual, int rows, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  const float b = __ldg(bias + c);
  const int last = min(rows, static_cast<int>(blockIdx.y + 1) * ROWS);
#pragma unroll 4
  for (int r = blockIdx.y * ROWS; r < last; ++r) {
    const size_t i = static_cast<size_t>(r) * cols + c;
    out[i] = residual[i] + gelu1(in[i] + b);
  }
}

struct max_op {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <int THREADS, int EACH>
__global__ void __launch_bounds__(THREADS) layernorm_kernel(float* __restrict__ out, const float* __restrict__ in, int cols) {
  using reduce = cub::BlockReduce<float, THREADS>;
  __shared__ typename reduce::TempStorage temp;
  __shared__ float shared;
  const float* row = in + static_cast<size_t>(blockIdx.x) * cols;
  float v[EACH];
  float sum = 0;
#pragma unroll
  for (int e = 0; e < EACH; ++e) {
    const int c = e * THREADS + threadIdx.x;
    v[e] = c < cols ? row[c] : 0.f;
    sum += v[e];
  }
  sum = reduce(temp).Sum(sum);
  if (threadIdx.x == 0) shared = sum / cols;
  __syncthreads();
  const float mean = shared;
  float squares = 0;
#pragma unroll
  for (int e = 0; e < EACH; ++e)
    if (e * THREADS + static_cast<int>(threadIdx.x) < cols) squares += (v[e] - mean) * (v[e] - mean);
  squares = reduce(temp).Sum(squares);
  if (threadIdx.x == 0) shared = rsqrtf(squares / cols + 1e-5f);
  __syncthreads();
  const float scale = shared;
#pragma unroll
  for (int e = 0; e < EACH; ++e)
    if (const int c = e * THREADS + threadIdx.x; c < cols) out[static_cast<size_t>(blockIdx.x) * cols + c] = (v[e] - mean) * scale;
}

template <int THREADS, int EACH>
__global__ void __launch_bounds__(THREADS) softmax_kernel(float* __restrict__ out, const float* __restrict__ in, int cols) {
  using reduce = cub::BlockReduce<float, THREADS>;
  __shared__ union {
    typename reduce::TempStorage reduction;
    float dummy;
  } temp;
  __shared__ float top, total;
  const size_t base = static_cast<size_t>(blockIdx.x) * cols;
  float v[EACH];
  float most = -INFINITY;
  for (int e = 0; e < EACH; ++e) {
    const int c = e * THREADS + threadIdx.x;
    v[e] = c < cols ? in[base + c] : -INFINITY;
    most = fmaxf(most, v[e]);
  }
  most = reduce(temp.reduction).Reduce(most, max_op{});
  if (threadIdx.x == 0) top = most;
  __syncthreads();
  float sum = 0;
  for (int e = 0; e < EACH; ++e) sum += v[e] = __expf(v[e] - top);
  sum = reduce(temp.reduction).Sum(sum);
  if (threadIdx.x == 0) total = 1.f / sum;
  __syncthreads();
  for (int e = 0; e < EACH; ++e)
    if (const int c = e * THREADS + threadIdx.x; c < cols) out[base + c] = v[e] * total;
}

}  // namespace

namespace lab04 {
void sin2_plus_cos2(float* out, const float* in, int n, cudaStream_t stream) {
  sincos_kernel<<<(n + 255) / 256, 256, 0, stream>>>(out, in, n);
}
void bias_gelu_residual(float* out, const float* in, const float* bias, const float* residual, int rows, int columns, cudaStream_t stream) {
  constexpr int R = 32;
  bgr_kernel<R><<<dim3((columns + 127) / 128, (rows + R - 1) / R), 128, 0, stream>>>(out, in, bias, residual, rows, columns);
}
#define BY_COLUMNS(kernel)                                                                        \
  if (columns <= 1024) kernel<256, 4><<<rows, 256, 0, stream>>>(out, in, columns);                \
  else if (columns <= 4096) kernel<512, 8><<<rows, 512, 0, stream>>>(out, in, columns);           \
  else kernel<1024, 16><<<rows, 1024, 0, stream>>>(out, in, columns);
void layernorm(float* out, const float* in, int rows, int columns, cudaStream_t stream) { BY_COLUMNS(layernorm_kernel) }
void softmax(float* out, const float* in, int rows, int columns, cudaStream_t stream) { BY_COLUMNS(softmax_kernel) }
}  // namespace lab04
