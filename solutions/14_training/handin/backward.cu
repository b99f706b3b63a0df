// Gradients of GELU and LayerNorm, each array read once. A LayerNorm's two gradients want opposite things: d_x needs
// sums along a row, d_weight and d_bias need sums down a column. So a warp holds a whole row in registers, and beside
// it the column sums of all rows so far: lanes exchange the sums of a row, and no barrier stops the loop.
#include <lab/device.hpp>

#include <algorithm>

#include "training.hpp"

namespace lab14 {
namespace {

constexpr int ceil_div(int a, int b) { return (a - 1) / b + 1; }

// ---- GELU ----------------------------------------------------------------------------------------------------------

constexpr int block_size = 256;

//! [gelu]
/// With s = 1 / (1 + exp(-2u)), tanh u is 2 s - 1. Beyond 10 the result is 0 or 1, and in^3 might be infinite.
__device__ float gelu_derivative(float in) {
  const float x = fminf(fmaxf(in, -10.0f), 10.0f), square = x * x;
  const float twice_u = 1.59576912f * x * (1.0f + 0.044715f * square);
  const float s = __fdividef(1.0f, 1.0f + __expf(-twice_u));
  return s + x * s * (1.0f - s) * 1.59576912f * (1.0f + 0.134145f * square);
}
//! [gelu]

// Up to three elements after the last float4 go to the threads after it.
__global__ void gelu_backward_kernel(float* d_in,                          // (n)
                                     const float* in, const float* d_out,  // (n) each
                                     int n) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  if (i < n / 4) {
    const float4 x = __ldcs(reinterpret_cast<const float4*>(in) + i);
    const float4 d = __ldcs(reinterpret_cast<const float4*>(d_out) + i);
    __stcs(reinterpret_cast<float4*>(d_in) + i, make_float4(d.x * gelu_derivative(x.x), d.y * gelu_derivative(x.y),
                                                            d.z * gelu_derivative(x.z), d.w * gelu_derivative(x.w)));
  } else if (const int last = n / 4 * 3 + i; last < n) {
    d_in[last] = d_out[last] * gelu_derivative(in[last]);
  }
}

// ---- LayerNorm -----------------------------------------------------------------------------------------------------

constexpr int warps = 8, most_blocks = 128;

int blocks_for(int rows) { return std::min(most_blocks, ceil_div(rows, warps)); }

__device__ float4 operator+(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
__device__ float4 operator-(float4 a, float4 b) { return {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w}; }
__device__ float4 operator*(float4 a, float4 b) { return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w}; }
__device__ float4 all(float a) { return {a, a, a, a}; }
__device__ float sum(float4 a) { return (a.x + a.y) + (a.z + a.w); }

__device__ float sum_of_warp(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(~0u, value, distance);
  return value;
}

//! [rows]
/// A lane has `quads` times four channels: enough of a row is on its way at once that one block fills a multiprocessor.
template <int quads>
__global__ void __launch_bounds__(32 * warps)
    rows_kernel(float4* d_x,                           // (rows, width), where width is channels / 4
                float4* partial,                       // (blocks, 2, width): sums for d_weight, d_bias
                const float4* x,                       // (rows, width)
                const float4* weight,                  // (width)
                const float* mean, const float* rstd,  // (rows) each
                const float4* d_out,                   // (rows, width)
                int rows, int width) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float mean_of_sum = 0.25f / width;
  float4 w[quads] = {}, to_weight[quads] = {}, to_bias[quads] = {};
  for (int i = 0; i < quads; ++i)
    if (const int q = 32 * i + lane; q < width) w[i] = weight[q];
  for (int row = blockIdx.x * warps + warp; row < rows; row += gridDim.x * warps) {
    float4 normal[quads] = {}, d[quads] = {}, so_far[quads] = {};
#pragma unroll
    for (int i = 0; i < quads; ++i) {
      const int q = 32 * i + lane;
      if (q >= width) continue;
      normal[i] = x[row * width + q];
      d[i] = d_out[row * width + q];
      so_far[i] = d_x[row * width + q];
    }
    const float4 center = all(mean[row]), scale = all(rstd[row]);
    float sum_g = 0.0f, sum_g_normal = 0.0f;
#pragma unroll
    for (int i = 0; i < quads; ++i) {
      normal[i] = (normal[i] - center) * scale;
      to_weight[i] = to_weight[i] + d[i] * normal[i];
      to_bias[i] = to_bias[i] + d[i];
      d[i] = d[i] * w[i];
      sum_g += sum(d[i]);
      sum_g_normal += sum(d[i] * normal[i]);
    }
    const float4 mean_g = all(sum_of_warp(sum_g) * mean_of_sum),
                 mean_g_normal = all(sum_of_warp(sum_g_normal) * mean_of_sum);
#pragma unroll
    for (int i = 0; i < quads; ++i)
      if (const int q = 32 * i + lane; q < width)
        d_x[row * width + q] = so_far[i] + scale * (d[i] - mean_g - normal[i] * mean_g_normal);
  }
  __shared__ float4 sums[warps][32 * quads];
  for (int which = 0; which < 2; ++which) {
    __syncthreads();
    for (int i = 0; i < quads; ++i) sums[warp][32 * i + lane] = which == 0 ? to_weight[i] : to_bias[i];
    __syncthreads();
    for (int q = threadIdx.x; q < width; q += 32 * warps) {
      float4 total{};
      for (int i = 0; i < warps; ++i) total = total + sums[i][q];
      partial[(2 * blockIdx.x + which) * width + q] = total;
    }
  }
}
//! [rows]

/// Adds the blocks' sums: 32 columns per block, whose rows are shared by eight warps.
constexpr int sharing = 8;
__global__ void columns_kernel(float* d_weight, float* d_bias,  // (channels) each
                               const float* partial,            // (blocks, 2 channels)
                               int blocks, int channels) {
  __shared__ float sums[sharing][32];
  const int column = blockIdx.x * 32 + threadIdx.x;
  float total = 0.0f;
  if (column < 2 * channels)
    for (int b = threadIdx.y; b < blocks; b += sharing) total += partial[b * 2 * channels + column];
  sums[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  if (threadIdx.y > 0 || column >= 2 * channels) return;
  for (int i = 1; i < sharing; ++i) total += sums[i][threadIdx.x];
  *(column < channels ? d_weight + column : d_bias + (column - channels)) += total;
}

}  // namespace

void gelu_backward(float* d_in, const float* in, const float* d_out, int n, cudaStream_t stream) {
  gelu_backward_kernel<<<ceil_div(n / 4 + n % 4, block_size), block_size, 0, stream>>>(d_in, in, d_out, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}

std::size_t layer_norm_partial(int rows, int channels) {
  return static_cast<std::size_t>(2 * blocks_for(rows)) * static_cast<std::size_t>(channels);
}

void layer_norm_backward(float* d_x, float* d_weight, float* d_bias, float* partial, const float* x,
                         const float* weight, const float* mean, const float* rstd, const float* d_out, int rows,
                         int channels, cudaStream_t stream) {
  const int blocks = blocks_for(rows);
  const auto launch = [&](auto kernel) {
    const auto quads_of = [](auto* p) { return reinterpret_cast<const float4*>(p); };
    kernel<<<blocks, 32 * warps, 0, stream>>>(reinterpret_cast<float4*>(d_x), reinterpret_cast<float4*>(partial),
                                              quads_of(x), quads_of(weight), mean, rstd, quads_of(d_out), rows,
                                              channels / 4);
  };
  const int quads = ceil_div(channels, 4 * 32);
  quads <= 2   ? launch(rows_kernel<2>)
  : quads <= 4 ? launch(rows_kernel<4>)
  : quads <= 6 ? launch(rows_kernel<6>)
               : launch(rows_kernel<8>);
  LAB_CUDA_CHECK(cudaGetLastError());
  columns_kernel<<<ceil_div(2 * channels, 32), dim3(32, sharing), 0, stream>>>(d_weight, d_bias, partial, blocks,
                                                                               channels);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab14
