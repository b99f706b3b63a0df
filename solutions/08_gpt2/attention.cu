// Causal attention in one kernel, without the matrix of scores (FlashAttention's idea: Dao, Fu, Ermon, Rudra and Re,
// 2022): a block keeps its queries and goes over the keys and values, a tile of 64 at a time, with the softmax of what
// it has seen so far. Heads of 64. In bf16 by tensor cores, in FP32 by multiply-adds.
#include "attention.cuh"

#include <cuda_pipeline_primitives.h>

#include "lab/device.hpp"
#include "lab/tensor_core.hpp"

namespace lab08 {
namespace {

using bf16 = __nv_bfloat16;

constexpr int size = 64;                        // of a head
constexpr int keys = 64;                        // in a tile
constexpr float factor = 0.125f * 1.44269504f;  // 1 / sqrt(size); exp(x) = 2^(x log2(e))

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

/// 2^x, where x <= 0; denormal results are 0.
__device__ float power_of_2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// Where a block finds its sequence and head in qkv (batch, tokens, 3, heads, size), and which queries are its own: the
/// blocks with the most work come first, so that none of them is left to the end.
template <class T>
struct part {
  __device__ part(const T* qkv, int tokens, int heads, int queries)
      : stride(std::size_t{3} * heads * size),
        head(static_cast<std::size_t>(blockIdx.x) % heads),
        sequence(blockIdx.x / heads),
        q(qkv + sequence * tokens * stride + head * size),
        k(q + heads * size),
        v(k + heads * size),
        first_query((gridDim.y - 1 - blockIdx.y) * queries),
        tiles((min(first_query + queries, tokens) - 1) / keys + 1) {}
  std::size_t stride, head, sequence;
  const T *q, *k, *v;
  int first_query, tiles;
};

/// Copies rows of a matrix, from `first` on, to shared memory; each thread copies 16 bytes at a time. Rows that come
/// after the text become zeros, so that none is NaN.
template <int rows, int pitch, int threads, class T>
__device__ void fetch(T* tile, const T* from, int first, int tokens, std::size_t stride) {
  constexpr int width = 16 / sizeof(T), columns = size / width, step = threads / columns;
  const int row = threadIdx.x / columns, column = threadIdx.x % columns * width;
  T* to = tile + row * pitch + column;
  from += (first + row) * stride + column;
#pragma unroll
  for (int r = 0; r < rows; r += step) {
    if (first + row + r < tokens)
      __pipeline_memcpy_async(to + r * pitch, from, 16);
    else
      *reinterpret_cast<uint4*>(to + r * pitch) = make_uint4(0, 0, 0, 0);
    from += step * stride;
  }
}

// ---- bf16 -----------------------------------------------------------------------------------------------------------

constexpr int warps_bf16 = 4;

//! [attention]
/// Each warp has `parts` times 16 queries.
template <int parts>
__global__ void __launch_bounds__(32 * warps_bf16)
    attention_bf16_kernel(bf16* out,        // (batch, tokens, heads, size)
                          const bf16* qkv,  // (batch, tokens, 3, heads, size)
                          int tokens, int heads) {
  constexpr int threads = 32 * warps_bf16, pitch = size + 8;  // 36 words: 8 rows of 16 bytes meet 32 different banks
  __shared__ alignas(16) bf16 k_tiles[2][keys * pitch], v_tiles[2][keys * pitch];
  const part<bf16> my(qkv, tokens, heads, 16 * parts * warps_bf16);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4 * 2;

  const auto fetch_both = [&](int t) {
    fetch<keys, pitch, threads>(k_tiles[t % 2], my.k, t * keys, tokens, my.stride);
    fetch<keys, pitch, threads>(v_tiles[t % 2], my.v, t * keys, tokens, my.stride);
    __pipeline_commit();
  };
  fetch_both(0);

  // The warp's queries stay in registers.
  const int first_of_warp = my.first_query + 16 * parts * warp, row = first_of_warp + group;
  std::uint32_t of_q[parts][size / 16][4];
#pragma unroll
  for (int p = 0; p < parts; ++p)
    for (int d = 0; d < size / 16; ++d)
      for (int i = 0; i < 4; ++i) {
        const int r = row + 16 * p + i % 2 * 8, c = 16 * d + i / 2 * 8 + pair;
        of_q[p][d][i] = r < tokens ? *reinterpret_cast<const std::uint32_t*>(my.q + r * my.stride + c) : 0;
      }

  float result[parts][size / 8][4] = {}, largest[parts][2], sum[parts][2] = {};
  for (auto& two : largest) two[0] = two[1] = -INFINITY;
  for (int t = 0; t < my.tiles; ++t) {
    __pipeline_wait_prior(0);
    __syncthreads();  // this tile has arrived, and all threads are done with the previous one
    if (t + 1 < my.tiles) fetch_both(t + 1);
    const bf16 *k_tile = k_tiles[t % 2], *v_tile = v_tiles[t % 2];
    if (t * keys >= first_of_warp + 16 * parts) continue;  // all past the diagonal

    float scores[parts][keys / 8][4] = {};
#pragma unroll
    for (int n = 0; n < keys / 8; ++n)
#pragma unroll
      for (int d = 0; d < size / 16; d += 2) {
        std::uint32_t of_k[4];
        lab::ldmatrix(of_k, k_tile + (8 * n + lane % 8) * pitch + 16 * d + lane / 8 * 8);
#pragma unroll
        for (int p = 0; p < parts; ++p) {
          lab::mma(scores[p][n], of_q[p][d], {of_k[0], of_k[1]});
          lab::mma(scores[p][n], of_q[p][d + 1], {of_k[2], of_k[3]});
        }
      }
    if ((t + 1) * keys > first_of_warp) {
#pragma unroll
      for (int p = 0; p < parts; ++p)
        for (int n = 0; n < keys / 8; ++n)
          for (int i = 0; i < 4; ++i)
            if (t * keys + 8 * n + pair + i % 2 > row + 16 * p + i / 2 * 8) scores[p][n][i] = -INFINITY;
    }

    // Rows `row` and `row + 8`, each in four lanes: what was added up so far is scaled to the new maximum.
#pragma unroll
    for (int p = 0; p < parts; ++p)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float most = largest[p][r];
        for (int n = 0; n < keys / 8; ++n) most = fmaxf(most, fmaxf(scores[p][n][2 * r], scores[p][n][2 * r + 1]));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
        const float rescale = power_of_2((largest[p][r] - most) * factor);  // 0 at first: then the maximum is finite
        largest[p][r] = most;
        sum[p][r] *= rescale;
        for (int n = 0; n < size / 8; ++n) result[p][n][2 * r] *= rescale, result[p][n][2 * r + 1] *= rescale;
        for (int n = 0; n < keys / 8; ++n)
          for (int i = 2 * r; i < 2 * r + 2; ++i)
            sum[p][r] += scores[p][n][i] = power_of_2(scores[p][n][i] * factor - most * factor);
      }

      // Two tiles of scores side by side are what a lane must hold of the left factor.
#pragma unroll
    for (int s = 0; s < keys / 16; ++s) {
      std::uint32_t weights[parts][4];
#pragma unroll
      for (int p = 0; p < parts; ++p)
        for (int i = 0; i < 4; ++i)
          weights[p][i] = rounded(scores[p][2 * s + i / 2][i % 2 * 2], scores[p][2 * s + i / 2][i % 2 * 2 + 1]);
#pragma unroll
      for (int n = 0; n < size / 8; n += 2) {
        std::uint32_t of_v[4];
        lab::ldmatrix_trans(of_v, v_tile + (16 * s + lane % 16) * pitch + 8 * n + lane / 16 * 8);
#pragma unroll
        for (int p = 0; p < parts; ++p) {
          lab::mma(result[p][n], weights[p], {of_v[0], of_v[1]});
          lab::mma(result[p][n + 1], weights[p], {of_v[2], of_v[3]});
        }
      }
    }
  }

#pragma unroll
  for (int p = 0; p < parts; ++p)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float total = sum[p][r] + __shfl_xor_sync(~0u, sum[p][r], 1);
      total += __shfl_xor_sync(~0u, total, 2);
      const int query = row + 16 * p + 8 * r;
      if (query >= tokens) continue;
      bf16* to = out + ((my.sequence * tokens + query) * heads + my.head) * size + pair;
      for (int n = 0; n < size / 8; ++n)
        *reinterpret_cast<std::uint32_t*>(to + 8 * n) =
            rounded(result[p][n][2 * r] / total, result[p][n][2 * r + 1] / total);
    }
}
//! [attention]

// ---- FP32 -----------------------------------------------------------------------------------------------------------

__device__ void load(float* to, const float* from) {
  const float4 x = *reinterpret_cast<const float4*>(from);
  to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
}

constexpr int own = 8;  // the rows and columns of a lane's part of a tile

/// sum (i, j) += left (i, e) right (e, j) for each of four e; the lane's row i begins 4 i pitches after `left`.
template <int pitch, class element>
__device__ void multiply_add(float (&sum)[own][own], const float* left, element right) {
#pragma unroll
  for (int i = 0; i < own; ++i) {
    float mine[4];
    load(mine, left + 4 * i * pitch);
#pragma unroll
    for (int e = 0; e < 4; ++e)
      for (int j = 0; j < own; ++j) sum[i][j] += mine[e] * right(e, j);
  }
}

// Pitches such that the lanes that read, or write, at a time meet different banks: 8 rows of 16 bytes in q and k, 4
// rows of 8 words in the weights.
constexpr int pitch_qk = size + 4, pitch_weights = keys + 8;

template <int warps>
struct shared_fp32 {
  float q[32 * warps * pitch_qk], k[keys * pitch_qk], v[keys * size], weights[32 * warps * pitch_weights];
};

//! [attention_fp32]
/// A warp has 32 queries, a lane eight of them, four apart, times eight keys, eight apart, and then times eight of the
/// head's columns. Weights go from lane to lane through shared memory, within the warp.
template <int warps>
__global__ void __launch_bounds__(32 * warps)
    attention_fp32_kernel(float* out,        // (batch, tokens, heads, size)
                          const float* qkv,  // (batch, tokens, 3, heads, size)
                          int tokens, int heads) {
  constexpr int threads = 32 * warps;
  extern __shared__ float4 memory[];
  auto& s = *reinterpret_cast<shared_fp32<warps>*>(memory);
  const part<float> my(qkv, tokens, heads, 32 * warps);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, down = lane / 8, across = lane % 8;
  const int first_of_warp = my.first_query + 32 * warp;
  const float* q = s.q + (32 * warp + down) * pitch_qk;
  float* weights = s.weights + (32 * warp + down) * pitch_weights;

  fetch<32 * warps, pitch_qk, threads>(s.q, my.q, my.first_query, tokens, my.stride);
  fetch<keys, pitch_qk, threads>(s.k, my.k, 0, tokens, my.stride);
  __pipeline_commit();
  fetch<keys, size, threads>(s.v, my.v, 0, tokens, my.stride);
  __pipeline_commit();

  float result[own][own] = {}, largest[own], sum[own] = {};
  for (float& most : largest) most = -INFINITY;
  for (int t = 0; t < my.tiles; ++t) {
    // All keys are past the diagonal, or all queries past the text: nothing to do but fetch for the other warps.
    const bool idle = t * keys >= first_of_warp + 32 || first_of_warp >= tokens;
    __pipeline_wait_prior(1);
    __syncthreads();  // the keys are there
    float scores[own][own] = {};
    if (!idle)
#pragma unroll 2
      for (int d = 0; d < size; d += 4) {
        float k[own][4];
#pragma unroll
        for (int j = 0; j < own; ++j) load(k[j], s.k + (across + 8 * j) * pitch_qk + d);
        multiply_add<pitch_qk>(scores, q + d, [&](int e, int j) { return k[j][e]; });
      }
    __syncthreads();  // all threads are done with the keys
    if (t + 1 < my.tiles) fetch<keys, pitch_qk, threads>(s.k, my.k, (t + 1) * keys, tokens, my.stride);
    __pipeline_commit();

    if (!idle) {
#pragma unroll
      for (int i = 0; i < own; ++i) {
        const int query = first_of_warp + down + 4 * i;
        float most = largest[i];
#pragma unroll
        for (int j = 0; j < own; ++j) {
          if (t * keys + across + 8 * j > query) scores[i][j] = -INFINITY;
          most = fmaxf(most, scores[i][j]);
        }
        for (int distance = 1; distance < 8; distance *= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, distance));
        const float rescale = power_of_2((largest[i] - most) * factor);  // 0 at first: then the maximum is finite
        largest[i] = most;
        sum[i] *= rescale;
#pragma unroll
        for (int j = 0; j < own; ++j) {
          result[i][j] *= rescale;
          const float weight = power_of_2(scores[i][j] * factor - most * factor);
          sum[i] += weight;
          weights[4 * i * pitch_weights + across + 8 * j] = weight;
        }
      }
      __syncwarp();
    }
    __pipeline_wait_prior(1);
    __syncthreads();  // the values are there
    if (!idle)
#pragma unroll 2
      for (int key = 0; key < keys; key += 4) {
        float v[4][own];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          load(v[e], s.v + (key + e) * size + 4 * across);
          load(v[e] + 4, s.v + (key + e) * size + 4 * across + 32);
        }
        multiply_add<pitch_weights>(result, weights + key, [&](int e, int j) { return v[e][j]; });
      }
    __syncthreads();  // all threads are done with the values
    if (t + 1 < my.tiles) fetch<keys, size, threads>(s.v, my.v, (t + 1) * keys, tokens, my.stride);
    __pipeline_commit();
  }

#pragma unroll
  for (int i = 0; i < own; ++i) {
    float total = sum[i];
    for (int distance = 1; distance < 8; distance *= 2) total += __shfl_xor_sync(~0u, total, distance);
    const int query = first_of_warp + down + 4 * i;
    if (query >= tokens) continue;
    const float share = 1.0f / total;
    float* to = out + ((my.sequence * tokens + query) * heads + my.head) * size + 4 * across;
#pragma unroll
    for (int half = 0; half < own; half += 4)
      *reinterpret_cast<float4*>(to + 8 * half) = make_float4(result[i][half] * share, result[i][half + 1] * share,
                                                              result[i][half + 2] * share, result[i][half + 3] * share);
  }
}
//! [attention_fp32]

template <int warps>
void launch_fp32(float* out, const float* qkv, int batch, int tokens, int heads, cudaStream_t stream) {
  const auto kernel = attention_fp32_kernel<warps>;
  constexpr int bytes = sizeof(shared_fp32<warps>);
  LAB_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<dim3(batch * heads, ceil_div(tokens, 32 * warps)), 32 * warps, bytes, stream>>>(out, qkv, tokens, heads);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void attention(__nv_bfloat16* out, const __nv_bfloat16* qkv, int batch, int tokens, int heads, cudaStream_t stream) {
  // With two parts, half as much is read from shared memory; with one there are more warps, for short texts.
  const int parts = tokens > 256 ? 2 : 1;
  const auto kernel = parts == 2 ? attention_bf16_kernel<2> : attention_bf16_kernel<1>;
  kernel<<<dim3(batch * heads, ceil_div(tokens, 16 * parts * warps_bf16)), 32 * warps_bf16, 0, stream>>>(out, qkv,
                                                                                                         tokens, heads);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void attention(float* out, const float* qkv, int batch, int tokens, int heads, cudaStream_t stream) {
  if (tokens <= 64)
    launch_fp32<2>(out, qkv, batch, tokens, heads, stream);
  else
    launch_fp32<4>(out, qkv, batch, tokens, heads, stream);
}

}  // namespace lab08
