// Four more operations, each in one kernel. The first two are elementwise; the last two need a whole row before they
// can write its first element, but may read it only once.
#include "fusion.hpp"

namespace lab04 {
namespace {

constexpr int block_size = 256;

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__device__ float gelu_of(float x) {
  return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

__global__ void sin2_plus_cos2_kernel(float* out, const float* in, int n) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  if (i >= n) return;
  const float s = __sinf(in[i]), c = __cosf(in[i]);
  out[i] = s * s + c * c;
}

// A thread has one column; its block goes down the rows.
__global__ void bias_gelu_residual_kernel(float* out, const float* in, const float* bias, const float* residual,
                                          int rows, int columns) {
  const int c = blockIdx.x * block_size + threadIdx.x;
  if (c >= columns) return;
  const float b = bias[c];
  for (int r = blockIdx.y; r < rows; r += gridDim.y) {
    const int i = r * columns + c;
    out[i] = residual[i] + gelu_of(in[i] + b);
  }
}

__device__ float block_sum(float v) {
  __shared__ float partial[32];
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
  __syncthreads();  // the previous sum has been read
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  v = 0.0f;
  for (int w = 0; w < block_size / 32; ++w) v += partial[w];
  return v;
}

__device__ float block_max(float v) {
  __shared__ float partial[32];
  for (int d = 16; d > 0; d /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, d));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  v = partial[0];
  for (int w = 1; w < block_size / 32; ++w) v = fmaxf(v, partial[w]);
  return v;
}

constexpr int per_thread = 16384 / block_size;

__global__ void layernorm_kernel(float* out, const float* in, int columns) {
  in += blockIdx.x * columns;
  out += blockIdx.x * columns;
  float v[per_thread];
  float sum = 0.0f;
  for (int i = 0; i < per_thread; ++i) {
    const int c = threadIdx.x + i * block_size;
    v[i] = c < columns ? in[c] : 0.0f;
    sum += v[i];
  }
  const float mean = block_sum(sum) / columns;
  sum = 0.0f;
  for (int i = 0; i < per_thread; ++i)
    if (threadIdx.x + i * block_size < columns) sum += (v[i] - mean) * (v[i] - mean);
  const float scale = rsqrtf(block_sum(sum) / columns + 1e-5f);
  for (int i = 0; i < per_thread; ++i) {
    const int c = threadIdx.x + i * block_size;
    if (c < columns) out[c] = (v[i] - mean) * scale;
  }
}

__global__ void softmax_kernel(float* out, const float* in, int columns) {
  in += blockIdx.x * columns;
  out += blockIdx.x * columns;
  float v[per_thread];
  float maximum = -INFINITY;
  for (int i = 0; i < per_thread; ++i) {
    const int c = threadIdx.x + i * block_size;
    v[i] = c < columns ? in[c] : -INFINITY;
    maximum = fmaxf(maximum, v[i]);
  }
  maximum = block_max(maximum);
  float sum = 0.0f;
  for (int i = 0; i < per_thread; ++i) {
    v[i] = expf(v[i] - maximum);
    sum += v[i];
  }
  sum = block_sum(sum);
  for (int i = 0; i < per_thread; ++i) {
    const int c = threadIdx.x + i * block_size;
    if (c < columns) out[c] = v[i] / sum;
  }
}

}  // namespace

void sin2_plus_cos2(float* out, const float* in, int n, cudaStream_t stream) {
  sin2_plus_cos2_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(out, in, n);
}

void bias_gelu_residual(float* out, const float* in, const float* bias, const float* residual, int rows, int columns,
                        cudaStream_t stream) {
  const dim3 grid(ceil_div(columns, block_size), ceil_div(rows, 64));
  bias_gelu_residual_kernel<<<grid, block_size, 0, stream>>>(out, in, bias, residual, rows, columns);
}

void layernorm(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  layernorm_kernel<<<rows, block_size, 0, stream>>>(out, in, columns);
}

void softmax(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  softmax_kernel<<<rows, block_size, 0, stream>>>(out, in, columns);
}

}  // namespace lab04
