// Gradients of GELU and LayerNorm, each array read once. A LayerNorm's two gradients want opposite things: d_x needs
// sums along a row, d_weight and d_bias need sums down a column. So a thread owns four columns and walks down the rows
// of its block with their sums in registers, and only the sums of a row travel between threads.
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

constexpr int most_threads = 512, most_blocks = 128;
constexpr int rows_at_once = 4;  // by each thread: so many loads are on their way together

/// A block has several groups of threads; each covers a row, and takes rows_at_once rows at a time.
struct shape {
  int width, groups, blocks;
};

shape shape_of(int rows, int channels) {
  const int width = 32 * ceil_div(channels, 4 * 32), groups = most_threads / width;
  return {width, groups, std::min(most_blocks, ceil_div(rows, groups * rows_at_once))};
}

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
__global__ void __launch_bounds__(most_threads)
    rows_kernel(float* d_x,                            // (rows, channels)
                float* partial,                        // (blocks, 2, channels): sums for d_weight, d_bias
                const float* x,                        // (rows, channels)
                const float* weight,                   // (channels)
                const float* mean, const float* rstd,  // (rows) each
                const float* d_out,                    // (rows, channels)
                int rows, int channels) {
  __shared__ float2 row_sums[2][rows_at_once][most_threads / 32];
  __shared__ float4 column_sums[2][most_threads];
  const int column = 4 * threadIdx.x, group = threadIdx.y, groups = blockDim.y;
  const int warps = blockDim.x / 32, first_warp = group * warps, warp = first_warp + threadIdx.x / 32;
  const bool owns = column < channels;
  const float4 w = owns ? *reinterpret_cast<const float4*>(weight + column) : float4{};
  float4 to_weight{}, to_bias{};
  int buffer = 0;  // two, so that one barrier for each step is enough
  for (int first = blockIdx.x * groups * rows_at_once; first < rows; first += gridDim.x * groups * rows_at_once) {
    const int row = first + group * rows_at_once;
    float4 normal[rows_at_once] = {}, d[rows_at_once] = {}, so_far[rows_at_once] = {};
    float scale[rows_at_once] = {};
#pragma unroll
    for (int k = 0; k < rows_at_once; ++k) {
      if (row + k >= rows || !owns) continue;
      const int at = (row + k) * channels + column;
      normal[k] = *reinterpret_cast<const float4*>(x + at);
      d[k] = *reinterpret_cast<const float4*>(d_out + at);
      so_far[k] = *reinterpret_cast<const float4*>(d_x + at);
      scale[k] = rstd[row + k];
      normal[k] = (normal[k] - all(mean[row + k])) * all(scale[k]);
    }
#pragma unroll
    for (int k = 0; k < rows_at_once; ++k) {
      to_weight = to_weight + d[k] * normal[k];
      to_bias = to_bias + d[k];
      d[k] = d[k] * w;
      const float2 sums{sum_of_warp(sum(d[k])), sum_of_warp(sum(d[k] * normal[k]))};
      if (threadIdx.x % 32 == 0) row_sums[buffer][k][warp] = sums;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < rows_at_once; ++k) {
      if (row + k >= rows || !owns) continue;
      float2 sums{};
      for (int i = first_warp; i < first_warp + warps; ++i)
        sums.x += row_sums[buffer][k][i].x, sums.y += row_sums[buffer][k][i].y;
      const float4 mean_g = all(sums.x / channels), mean_g_normal = all(sums.y / channels);
      *reinterpret_cast<float4*>(d_x + (row + k) * channels + column) =
          so_far[k] + all(scale[k]) * (d[k] - mean_g - normal[k] * mean_g_normal);
    }
    buffer ^= 1;
  }
  const int thread = group * blockDim.x + threadIdx.x;
  column_sums[0][thread] = to_weight;
  column_sums[1][thread] = to_bias;
  __syncthreads();
  if (!owns || group >= 2) return;  // there are at least two groups: one for each sum
  float4 total{};
  for (int i = 0; i < groups; ++i) total = total + column_sums[group][i * blockDim.x + threadIdx.x];
  *reinterpret_cast<float4*>(partial + (2 * blockIdx.x + group) * channels + column) = total;
}
//! [rows]

/// Adds the blocks' sums: 32 columns a block, of which eight warps share the rows.
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
  return static_cast<std::size_t>(2 * shape_of(rows, channels).blocks) * static_cast<std::size_t>(channels);
}

void layer_norm_backward(float* d_x, float* d_weight, float* d_bias, float* partial, const float* x,
                         const float* weight, const float* mean, const float* rstd, const float* d_out, int rows,
                         int channels, cudaStream_t stream) {
  const shape s = shape_of(rows, channels);
  rows_kernel<<<s.blocks, dim3(s.width, s.groups), 0, stream>>>(d_x, partial, x, weight, mean, rstd, d_out, rows,
                                                                channels);
  LAB_CUDA_CHECK(cudaGetLastError());
  columns_kernel<<<ceil_div(2 * channels, 32), dim3(32, sharing), 0, stream>>>(d_weight, d_bias, partial, s.blocks,
                                                                               channels);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab14
