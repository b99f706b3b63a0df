// libcu++: cuda::barrier, cuda::memcpy_async, cuda::pipeline; rows arrive asynchronously.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/limits>
#include <cuda_runtime.h>
#include <lab/device.hpp>
#include "fusion.hpp"
namespace cg = cooperative_groups;

namespace {
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

__device__ float gelu1(float x) { return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); }

struct sum_op { __device__ float operator()(float a, float b) const { return a + b; } };
struct max_op { __device__ float operator()(float a, float b) const { return fmaxf(a, b); } };

template <class Op>
__device__ float reduce_block(float v, Op op, block_barrier& bar, float* parts) {
  for (int d = 16; d > 0; d >>= 1) v = op(v, __shfl_down_sync(0xffffffffu, v, d));
  const int warp = threadIdx.x / warpSize, warps = blockDim.x / warpSize;
  if (threadIdx.x % warpSize == 0) parts[warp] = v;
  bar.arrive_and_wait();
  float r = parts[0];
  for (int w = 1; w < warps; ++w) r = op(r, parts[w]);
  bar.arrive_and_wait();
  return r;
}

template <bool is_softmax>
__global__ void rows_kernel(float* out, const float* in, int cols) {
  extern __shared__ __align__(16) float row[];
  __shared__ float parts[32];
  __shared__ block_barrier bar;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  const float* from = in + size_t(blockIdx.x) * cols;
  cuda::memcpy_async(block, row, from, sizeof(float) * cols, bar);
  bar.arrive_and_wait();
  float* to = out + size_t(blockIdx.x) * cols;
  if constexpr (is_softmax) {
    float m = -cuda::std::numeric_limits<float>::infinity();
    for (int c = threadIdx.x; c < cols; c += blockDim.x) m = fmaxf(m, row[c]);
    m = reduce_block(m, max_op{}, bar, parts);
    float s = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) s += expf(row[c] - m);
    s = reduce_block(s, sum_op{}, bar, parts);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) to[c] = expf(row[c] - m) * __frcp_rn(s);
  } else {
    float s = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) s += row[c];
    const float mean = reduce_block(s, sum_op{}, bar, parts) / cols;
    s = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) s += (row[c] - mean) * (row[c] - mean);
    const float inv = rsqrtf(reduce_block(s, sum_op{}, bar, parts) / cols + 1e-5f);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) to[c] = (row[c] - mean) * inv;
  }
}

template <bool s>
void run(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const size_t bytes = sizeof(float) * columns;
  LAB_CUDA_CHECK(cudaFuncSetAttribute(rows_kernel<s>, cudaFuncAttributeMaxDynamicSharedMemorySize, 16384 * 4));
  rows_kernel<s><<<rows, 256, bytes, stream>>>(out, in, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}

// two-stage pipeline through shared memory for the elementwise one
__global__ void piped(float* out, const float* in, int n) {
  __shared__ float buf[2][256];
  auto pipe = cuda::make_pipeline();
  const int step = gridDim.x * 256, first = blockIdx.x * 256 + threadIdx.x;
  int stage = 0;
  pipe.producer_acquire();
  if (first < n) cuda::memcpy_async(&buf[0][threadIdx.x], in + first, sizeof(float), pipe);
  pipe.producer_commit();
  for (int i = first; i < n; i += step, stage ^= 1) {
    pipe.producer_acquire();
    if (n - i > step) cuda::memcpy_async(&buf[stage ^ 1][threadIdx.x], in + i + step, sizeof(float), pipe);
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<1>(pipe);
    float s, c;
    sincosf(buf[stage][threadIdx.x], &s, &c);
    out[i] = fmaf(s, s, c * c);
    pipe.consumer_release();
  }
}

__global__ void bgr(float* out, const float* in, const float* bias, const float* residual, int rows, int columns) {
  // a block walks down a strip of 32 columns
  const int c = blockIdx.x * 32 + threadIdx.x;
  if (c >= columns) return;
  const float b = bias[c];
  for (int r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += gridDim.y * blockDim.y) {
    const size_t i = size_t(r) * columns + c;
    out[i] = residual[i] + gelu1(in[i] + b);
  }
}
}  // namespace

namespace lab04 {
void sin2_plus_cos2(float* out, const float* in, int n, cudaStream_t stream) {
  piped<<<std::min((n + 255) / 256, 512), 256, 0, stream>>>(out, in, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}
void bias_gelu_residual(float* out, const float* in, const float* bias, const float* residual, int rows, int columns, cudaStream_t stream) {
  bgr<<<dim3((columns + 31) / 32, std::min((rows + 7) / 8, 64)), dim3(32, 8), 0, stream>>>(out, in, bias, residual, rows, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}
void layernorm(float* o, const float* i, int r, int c, cudaStream_t s) { run<false>(o, i, r, c, s); }
void softmax(float* o, const float* i, int r, int c, cudaStream_t s) { run<true>(o, i, r, c, s); }
}
