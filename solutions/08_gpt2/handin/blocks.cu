// LayerNorm and the causal softmax, one kernel each. A row belongs to a warp, or to the four warps of a block where it
// is long; it is loaded once, stays in registers, and only sums and maxima travel between the lanes.
#include <lab/device.hpp>

#include "forward.hpp"

namespace lab08 {
namespace {

constexpr int warps_in_block = 4;

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

struct plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// Combines `value` of all lanes of the row's `warps`, for every lane. Each use needs a `partial` of its own.
template <int warps, class operation>
__device__ float reduced(float value, float* partial, operation combine) {
  for (int distance = 16; distance > 0; distance /= 2) value = combine(value, __shfl_xor_sync(~0u, value, distance));
  if constexpr (warps > 1) {
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = partial[0];
    for (int warp = 1; warp < warps; ++warp) value = combine(value, partial[warp]);
  }
  return value;
}

/// `width` floats side by side: 4 where each row starts at a multiple of 16 bytes, else 1. `once`: they are not read
/// again.
template <int width, bool once = false>
__device__ void load(float* values, const float* from) {
  if constexpr (width == 4) {
    const auto* const quad = reinterpret_cast<const float4*>(from);
    const float4 x = once ? __ldcs(quad) : *quad;
    values[0] = x.x, values[1] = x.y, values[2] = x.z, values[3] = x.w;
  } else {
    values[0] = *from;
  }
}

template <int width>
__device__ void store(float* to, const float* values) {
  if constexpr (width == 4)
    *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
  else
    *to = values[0];
}

template <int width, int kept, int warps>
__global__ void layer_norm_kernel(float* out,           // (rows, channels)
                                  const float* in,      // (rows, channels)
                                  const float* weight,  // (channels)
                                  const float* bias,    // (channels)
                                  int rows, int channels) {
  __shared__ float partial[2][warps_in_block];
  const int lanes = 32 * warps, lane = threadIdx.x % lanes;
  const int row = blockIdx.x * (warps_in_block / warps) + threadIdx.x / lanes;
  if (row >= rows) return;  // all lanes of the row
  const std::size_t start = static_cast<std::size_t>(row) * channels;
  float x[kept], sum = 0.0f, squares = 0.0f;
#pragma unroll
  for (int k = 0; k < kept; k += width) {
    const int c = k * lanes + width * lane;
    for (int i = 0; i < width; ++i) x[k + i] = 0.0f;
    if (c < channels) load<width>(x + k, in + start + c);
    for (int i = 0; i < width; ++i) sum += x[k + i];
  }
  const float mean = reduced<warps>(sum, partial[0], plus{}) / channels;
#pragma unroll
  for (int k = 0; k < kept; k += width) {
    if (k * lanes + width * lane >= channels) continue;
    for (int i = 0; i < width; ++i) x[k + i] -= mean, squares += x[k + i] * x[k + i];
  }
  const float factor = rsqrtf(reduced<warps>(squares, partial[1], plus{}) / channels + 1e-5f);
#pragma unroll
  for (int k = 0; k < kept; k += width) {
    const int c = k * lanes + width * lane;
    if (c >= channels) continue;
    float w[width], b[width];
    load<width>(w, weight + c);
    load<width>(b, bias + c);
    for (int i = 0; i < width; ++i) x[k + i] = x[k + i] * factor * w[i] + b[i];
    store<width>(out + start + c, x + k);
  }
}

template <int width, int kept, int warps>
__global__ void causal_softmax_kernel(float* out,           // (rows, tokens)
                                      const float* scores,  // (rows, tokens)
                                      int rows, int tokens, float scale) {
  __shared__ float partial[2][warps_in_block];
  const int lanes = 32 * warps, lane = threadIdx.x % lanes;
  const int row = blockIdx.x * (warps_in_block / warps) + threadIdx.x / lanes;
  if (row >= rows) return;
  const std::size_t start = static_cast<std::size_t>(row) * tokens;
  const int last = row % tokens;             // the last column that counts
  const float factor = scale * 1.44269504f;  // exp(x) = 2^(x log2(e))
  float x[kept], largest = -INFINITY, sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kept; k += width) {
    const int c = k * lanes + width * lane;
    for (int i = 0; i < width; ++i) x[k + i] = -INFINITY;
    if (c + width - 1 <= last) {
      load<width, true>(x + k, scores + start + c);
    } else {
      for (int i = 0; i < width; ++i)
        if (c + i <= last) x[k + i] = scores[start + c + i];
    }
    for (int i = 0; i < width; ++i) largest = fmaxf(largest, x[k + i]);
  }
  largest = reduced<warps>(largest, partial[0], larger{}) * factor;
  for (float& value : x) sum += value = exp2f(value * factor - largest);
  const float share = 1.0f / reduced<warps>(sum, partial[1], plus{});
#pragma unroll
  for (int k = 0; k < kept; k += width) {
    const int c = k * lanes + width * lane;
    for (int i = 0; i < width; ++i) x[k + i] *= share;
    if (c < tokens) store<width>(out + start + c, x + k);
  }
}

}  // namespace

void layer_norm(float* out, const float* in, const float* weight, const float* bias, int rows, int channels,
                cudaStream_t stream) {
  const bool wide = channels % 4 == 0;
  const int warps = channels > 1024 ? warps_in_block : 1;
  const auto kernel = channels > 1024
                          ? (wide ? layer_norm_kernel<4, 32, warps_in_block> : layer_norm_kernel<1, 32, warps_in_block>)
                      : channels > 768 ? (wide ? layer_norm_kernel<4, 32, 1> : layer_norm_kernel<1, 32, 1>)
                      : channels > 256 ? (wide ? layer_norm_kernel<4, 24, 1> : layer_norm_kernel<1, 24, 1>)
                                       : (wide ? layer_norm_kernel<4, 8, 1> : layer_norm_kernel<1, 8, 1>);
  kernel<<<ceil_div(rows, warps_in_block / warps), 32 * warps_in_block, 0, stream>>>(out, in, weight, bias, rows,
                                                                                     channels);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void causal_softmax(float* out, const float* scores, int matrices, int tokens, float scale, cudaStream_t stream) {
  const bool wide = tokens % 4 == 0;
  const int warps = tokens > 512 ? warps_in_block : 1, rows = matrices * tokens;
  const auto kernel =
      tokens > 1024
          ? (wide ? causal_softmax_kernel<4, 32, warps_in_block> : causal_softmax_kernel<1, 32, warps_in_block>)
      : tokens > 512
          ? (wide ? causal_softmax_kernel<4, 8, warps_in_block> : causal_softmax_kernel<1, 8, warps_in_block>)
      : tokens > 256 ? (wide ? causal_softmax_kernel<4, 16, 1> : causal_softmax_kernel<1, 16, 1>)
                     : (wide ? causal_softmax_kernel<4, 8, 1> : causal_softmax_kernel<1, 8, 1>);
  kernel<<<ceil_div(rows, warps_in_block / warps), 32 * warps_in_block, 0, stream>>>(out, scores, rows, tokens, scale);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab08
