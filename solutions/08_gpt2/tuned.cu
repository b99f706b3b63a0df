// What makes the whole pass fast, beyond the two blocks that are handed in: residual and LayerNorm in one kernel, and
// attention in bf16 without the matrix of scores (FlashAttention's idea: Dao, Fu, Ermon, Rudra and Re, 2022). The rest
// is in common/gpt2/cuda.cu: bias and GELU in cublasLt's epilogues, and the CUDA graph.
#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "forward.hpp"
#include "gpt2/handed_in.hpp"
#include "lab/device.hpp"

namespace lab08 {
namespace {

using bf16 = __nv_bfloat16;

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

// ---- residual and LayerNorm
// -------------------------------------------------------------------------------------------

template <int width>
__device__ void load(float* values, const float* from) {
  if constexpr (width == 4) {
    const float4 x = *reinterpret_cast<const float4*>(from);
    values[0] = x.x, values[1] = x.y, values[2] = x.z, values[3] = x.w;
  } else {
    values[0] = *from;
  }
}
template <int width>
__device__ void load(float* values, const bf16* from) {
  if constexpr (width == 4) {
    const uint2 x = *reinterpret_cast<const uint2*>(from);
    values[0] = __uint_as_float(x.x << 16), values[1] = __uint_as_float(x.x & 0xFFFF0000u);
    values[2] = __uint_as_float(x.y << 16), values[3] = __uint_as_float(x.y & 0xFFFF0000u);
  } else {
    values[0] = __bfloat162float(*from);
  }
}

/// The bits of two, the first in the lower half.
__device__ std::uint32_t rounded(float low, float high) {
  const std::uint32_t l = __bfloat16_as_ushort(__float2bfloat16(low)), h = __bfloat16_as_ushort(__float2bfloat16(high));
  return h << 16 | l;
}

template <int width>
__device__ void store(float* to, const float* values) {
  if constexpr (width == 4)
    *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
  else
    *to = values[0];
}
template <int width>
__device__ void store(bf16* to, const float* values) {
  if constexpr (width == 4)
    *reinterpret_cast<uint2*>(to) = make_uint2(rounded(values[0], values[1]), rounded(values[2], values[3]));
  else
    *to = __float2bfloat16(values[0]);
}

__device__ float sum_of_warp(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(~0u, value, distance);
  return value;
}

constexpr int rows_in_block = 4;  // a warp each

//! [add_and_norm]
template <class T, int width, int kept>
__global__ void add_and_norm_kernel(float* x,         // (rows, channels)
                                    T* out,           // (rows, channels)
                                    const T* addend,  // (rows, channels) or null
                                    const float* weight, const float* bias, int rows, int channels) {
  const int row = blockIdx.x * rows_in_block + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const std::size_t start = static_cast<std::size_t>(row) * channels;
  float v[kept], sum = 0.0f, squares = 0.0f;
#pragma unroll
  for (int k = 0; k < kept; k += width) {
    const int c = k * 32 + width * lane;
    for (int i = 0; i < width; ++i) v[k + i] = 0.0f;
    if (c >= channels) continue;
    load<width>(v + k, x + start + c);
    if (addend) {
      float more[width];
      load<width>(more, addend + start + c);
      for (int i = 0; i < width; ++i) v[k + i] += more[i];
      store<width>(x + start + c, v + k);
    }
    for (int i = 0; i < width; ++i) sum += v[k + i];
  }
  const float mean = sum_of_warp(sum) / channels;
#pragma unroll
  for (int k = 0; k < kept; k += width) {
    if (k * 32 + width * lane >= channels) continue;
    for (int i = 0; i < width; ++i) v[k + i] -= mean, squares += v[k + i] * v[k + i];
  }
  const float factor = rsqrtf(sum_of_warp(squares) / channels + 1e-5f);
#pragma unroll
  for (int k = 0; k < kept; k += width) {
    const int c = k * 32 + width * lane;
    if (c >= channels) continue;
    float w[width], b[width];
    load<width>(w, weight + c);
    load<width>(b, bias + c);
    for (int i = 0; i < width; ++i) v[k + i] = v[k + i] * factor * w[i] + b[i];
    store<width>(out + start + c, v + k);
  }
}
//! [add_and_norm]

template <class T>
void add_and_norm(float* x, T* out, const T* addend, const float* weight, const float* bias, int rows, int channels,
                  cudaStream_t stream) {
  const bool wide = channels % 4 == 0;
  const auto kernel = channels <= 256    ? (wide ? add_and_norm_kernel<T, 4, 8> : add_and_norm_kernel<T, 1, 8>)
                      : channels <= 768  ? (wide ? add_and_norm_kernel<T, 4, 24> : add_and_norm_kernel<T, 1, 24>)
                      : channels <= 1600 ? (wide ? add_and_norm_kernel<T, 4, 52> : add_and_norm_kernel<T, 1, 52>)
                                         : (wide ? add_and_norm_kernel<T, 4, 128> : add_and_norm_kernel<T, 1, 128>);
  kernel<<<ceil_div(rows, rows_in_block), 32 * rows_in_block, 0, stream>>>(x, out, addend, weight, bias, rows,
                                                                           channels);
  LAB_CUDA_CHECK(cudaGetLastError());
}

// ---- attention
// -----------------------------------------------------------------------------------------------------------

// Two instructions of the tensor cores that CUDA C++ has no name for. On the simulated device lanes ask one another for
// what the hardware takes from them (PTX ISA, "mma.m16n8k16" and "ldmatrix": which lane holds which element).

/// c (16 x 8) += a (16 x 16) b (16 x 8); of row g = lane / 4 and of row g + 8 a lane holds columns 2 (lane % 4) and the
/// next one, of b rows 2 (lane % 4) and the next one, and these plus 8, of column g.
__device__ void multiply_add(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
#if __has_include(<sim/api.h>)
  const int lane = threadIdx.x % 32;
  const auto half = [](std::uint32_t two, int which) { return __uint_as_float(which ? two & 0xFFFF0000u : two << 16); };
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 16; ++k) {
      const std::uint32_t of_a = __shfl_sync(~0u, a[i / 2 + k / 8 * 2], lane / 4 * 4 + k % 8 / 2);
      const std::uint32_t of_b = __shfl_sync(~0u, k / 8 ? b1 : b0, (lane % 4 * 2 + i % 2) * 4 + k % 8 / 2);
      c[i] += half(of_a, k % 2) * half(of_b, k % 2);
    }
#else
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

/// Four 8 x 8 matrices from shared memory, `transposed` or not; lane l gives the address of row l % 8 of matrix l / 8.
template <bool transposed>
__device__ void load_matrices(std::uint32_t (&out)[4], const bf16* row) {
#if __has_include(<sim/api.h>)
  const int lane = threadIdx.x % 32;
  for (int m = 0; m < 4; ++m) {
    const auto at = [&](int r, int c) {
      const auto from = __shfl_sync(~0u, reinterpret_cast<unsigned long long>(row), 8 * m + r);
      return static_cast<std::uint32_t>(__bfloat16_as_ushort(reinterpret_cast<const bf16*>(from)[c]));
    };
    const int major = lane / 4, minor = lane % 4 * 2;
    out[m] = transposed ? at(minor, major) | at(minor + 1, major) << 16 : at(major, minor) | at(major, minor + 1) << 16;
  }
#else
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(address));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(address));
#endif
}

constexpr int size = 64;         // of a head
constexpr int keys = 64;         // in a tile
constexpr int pitch = size + 8;  // 36 words: 8 rows of 16 bytes meet 32 different banks
constexpr int warps = 4;
constexpr int queries = 16 * warps;  // in a tile, 16 rows a warp
static_assert(queries == keys);      // so that only the last tile of keys has a diagonal

/// `keys` rows of K or V, the first of which is `first`; rows behind the text are zeros, so that none is NaN.
__device__ void fetch(bf16* tile, const bf16* from, int first, int tokens, std::size_t stride) {
  for (int i = threadIdx.x; i < keys * size / 8; i += 32 * warps) {
    const int row = i / (size / 8), column = i % (size / 8) * 8;
    bf16* to = tile + row * pitch + column;
    if (first + row < tokens)
      __pipeline_memcpy_async(to, from + (first + row) * stride + column, 16);
    else
      *reinterpret_cast<uint4*>(to) = make_uint4(0, 0, 0, 0);
  }
}

//! [attention]
__global__ void __launch_bounds__(32 * warps) attention_kernel(bf16* out,        // (batch, tokens, heads, size)
                                                               const bf16* qkv,  // (batch, tokens, 3, heads, size)
                                                               int tokens, int heads) {
  __shared__ alignas(16) bf16 k_tiles[2][keys * pitch], v_tiles[2][keys * pitch];
  const int tile = gridDim.x - 1 - blockIdx.x;  // the longest first
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4 * 2;
  const std::size_t stride = std::size_t{3} * heads * size;
  const std::size_t b = blockIdx.y / heads, h = blockIdx.y % heads;
  const bf16* q = qkv + b * tokens * stride + h * size;
  const bf16 *k = q + heads * size, *v = k + heads * size;

  const auto fetch_both = [&](int t) {
    fetch(k_tiles[t % 2], k, t * keys, tokens, stride);
    fetch(v_tiles[t % 2], v, t * keys, tokens, stride);
    __pipeline_commit();
  };
  fetch_both(0);

  // The warp's 16 queries stay in registers.
  const int row = tile * queries + 16 * warp + group;
  std::uint32_t of_q[size / 16][4];
  for (int d = 0; d < size / 16; ++d)
    for (int i = 0; i < 4; ++i) {
      const int r = row + i % 2 * 8, c = 16 * d + i / 2 * 8 + pair;
      of_q[d][i] = r < tokens ? *reinterpret_cast<const std::uint32_t*>(q + r * stride + c) : 0;
    }

  constexpr float factor = 0.125f * 1.44269504f;  // 1 / sqrt(size); exp(x) = 2^(x log2(e))
  float result[size / 8][4] = {}, largest[2] = {-INFINITY, -INFINITY}, sum[2] = {};
  for (int t = 0; t <= tile; ++t) {
    __pipeline_wait_prior(0);
    __syncthreads();  // this tile is there, and everybody has done with the one before
    if (t < tile) fetch_both(t + 1);
    const bf16 *k_tile = k_tiles[t % 2], *v_tile = v_tiles[t % 2];

    float scores[keys / 8][4] = {};
#pragma unroll
    for (int n = 0; n < keys / 8; ++n)
#pragma unroll
      for (int d = 0; d < size / 16; d += 2) {
        std::uint32_t of_k[4];
        load_matrices<false>(of_k, k_tile + (8 * n + lane % 8) * pitch + 16 * d + lane / 8 * 8);
        multiply_add(scores[n], of_q[d], of_k[0], of_k[1]);
        multiply_add(scores[n], of_q[d + 1], of_k[2], of_k[3]);
      }
    if (t == tile) {
      for (int n = 0; n < keys / 8; ++n)
        for (int i = 0; i < 4; ++i)
          if (t * keys + 8 * n + pair + i % 2 > row + i / 2 * 8) scores[n][i] = -INFINITY;
    }

    // Rows `row` and `row + 8`, each in four lanes: what was added up so far is scaled to the new maximum.
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float most = largest[r];
      for (int n = 0; n < keys / 8; ++n) most = fmaxf(most, fmaxf(scores[n][2 * r], scores[n][2 * r + 1]));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
      const float rescale = exp2f((largest[r] - most) * factor);  // 0 at first: the maximum is finite from then on
      largest[r] = most;
      sum[r] *= rescale;
      for (int n = 0; n < size / 8; ++n) result[n][2 * r] *= rescale, result[n][2 * r + 1] *= rescale;
      for (int n = 0; n < keys / 8; ++n)
        for (int i = 2 * r; i < 2 * r + 2; ++i) sum[r] += scores[n][i] = exp2f(scores[n][i] * factor - most * factor);
    }

    // Two tiles of scores side by side are what a lane must hold of the left factor.
#pragma unroll
    for (int s = 0; s < keys / 16; ++s) {
      const std::uint32_t weights[4] = {
          rounded(scores[2 * s][0], scores[2 * s][1]), rounded(scores[2 * s][2], scores[2 * s][3]),
          rounded(scores[2 * s + 1][0], scores[2 * s + 1][1]), rounded(scores[2 * s + 1][2], scores[2 * s + 1][3])};
#pragma unroll
      for (int n = 0; n < size / 8; n += 2) {
        std::uint32_t of_v[4];
        load_matrices<true>(of_v, v_tile + (16 * s + lane % 16) * pitch + 8 * n + lane / 16 * 8);
        multiply_add(result[n], weights, of_v[0], of_v[1]);
        multiply_add(result[n + 1], weights, of_v[2], of_v[3]);
      }
    }
  }

  for (int r = 0; r < 2; ++r) {
    float total = sum[r] + __shfl_xor_sync(~0u, sum[r], 1);
    total += __shfl_xor_sync(~0u, total, 2);
    if (row + 8 * r >= tokens) continue;
    bf16* to = out + ((b * tokens + row + 8 * r) * heads + h) * size + pair;
    for (int n = 0; n < size / 8; ++n)
      *reinterpret_cast<std::uint32_t*>(to + 8 * n) = rounded(result[n][2 * r] / total, result[n][2 * r + 1] / total);
  }
}
//! [attention]

void attention(bf16* out, const bf16* qkv, int batch, int tokens, int heads, cudaStream_t stream) {
  attention_kernel<<<dim3(ceil_div(tokens, queries), batch * heads), 32 * warps, 0, stream>>>(out, qkv, tokens, heads);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace
}  // namespace lab08

const gpt2::kernels& gpt2::handed_in() {
  static constexpr kernels all{.layer_norm = lab08::layer_norm,
                               .causal_softmax = lab08::causal_softmax,
                               .add_and_norm = lab08::add_and_norm<float>,
                               .add_and_norm_bf16 = lab08::add_and_norm<lab08::bf16>,
                               .attention_bf16 = lab08::attention};
  return all;
}
