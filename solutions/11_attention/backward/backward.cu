// Attention's backward pass. Each score is computed twice: once by the block of its query, which adds up d_q, and once
// by the block of its key, which adds up d_k and d_v. So no two blocks add to one row, and the order of sums is fixed.
#include "backward.hpp"

#include <lab/device.hpp>

namespace lab11 {
namespace {

// A thread has 32 columns of one row. All lanes of a warp read the same row of a tile; parts of a row begin in
// different banks.
constexpr int own = 32, rows_of_block = 64, rows_of_tile = 32;

template <int size>
struct sides {
  static constexpr int shares = size / own, threads = rows_of_block * shares, pitch = size + 4 * (shares - 1);
};

__device__ float4& four(float* of) { return *reinterpret_cast<float4*>(of); }
__device__ const float4& four(const float* of) { return *reinterpret_cast<const float4*>(of); }

/// Copies rows from `first` on into a tile; those after the last become zeros.
template <int size>
__device__ void fetch(float* tile, const float* from, int first, int tokens) {
  for (int i = threadIdx.x * 4; i < rows_of_tile * size; i += sides<size>::threads * 4) {
    const int row = i / size, column = i % size;
    four(tile + row * sides<size>::pitch + column + column / own * 4) =
        first + row < tokens ? four(from + static_cast<std::size_t>(first + row) * size + column)
                             : make_float4(0, 0, 0, 0);
  }
}

/// Loads a thread's part of its row, through tiles, so that each warp asks for whole rows.
template <int size>
__device__ void take(float (&to)[own], float* tile, const float* from, int first, int tokens, int row, int share) {
  for (int part = 0; part < rows_of_block; part += rows_of_tile) {
    __syncthreads();
    fetch<size>(tile, from, first + part, tokens);
    __syncthreads();
    if (row / rows_of_tile * rows_of_tile != part) continue;
#pragma unroll
    for (int i = 0; i < own; ++i) to[i] = tile[row % rows_of_tile * sides<size>::pitch + share * (own + 4) + i];
  }
}

/// Stores it in the same way.
template <int size>
__device__ void give(float* to, float* tile, const float (&from)[own], int first, int tokens, int row, int share) {
  for (int part = 0; part < rows_of_block; part += rows_of_tile) {
    __syncthreads();
    if (row / rows_of_tile * rows_of_tile == part)
#pragma unroll
      for (int i = 0; i < own; ++i) tile[row % rows_of_tile * sides<size>::pitch + share * (own + 4) + i] = from[i];
    __syncthreads();
    for (int i = threadIdx.x * 4; i < rows_of_tile * size; i += sides<size>::threads * 4) {
      const int r = i / size, column = i % size;
      if (first + part + r < tokens)
        four(to + static_cast<std::size_t>(first + part + r) * size + column) =
            four(tile + r * sides<size>::pitch + column + column / own * 4);
    }
  }
}

template <int shares>
__device__ float whole(float part) {
#pragma unroll
  for (int step = 1; step < shares; step *= 2) part += __shfl_xor_sync(~0u, part, step);
  return part;
}

__device__ float product(const float (&mine)[own], const float* tile) {
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < own; i += 4) {
    const float4 x = four(tile + i);
    sum += mine[i] * x.x + mine[i + 1] * x.y + mine[i + 2] * x.z + mine[i + 3] * x.w;
  }
  return sum;
}

__device__ void add(float (&to)[own], float weight, const float* tile) {
#pragma unroll
  for (int i = 0; i < own; i += 4) {
    const float4 x = four(tile + i);
    to[i] += weight * x.x, to[i + 1] += weight * x.y, to[i + 2] += weight * x.z, to[i + 3] += weight * x.w;
  }
}

/// A warp per row.
__global__ void delta_kernel(float* delta, const float* out, const float* d_out, int rows, int size) {
  const int row = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32), lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = lane * 2; i < size; i += 64) {
    const std::size_t from = static_cast<std::size_t>(row) * size + i;
    const float2 a = *reinterpret_cast<const float2*>(out + from), b = *reinterpret_cast<const float2*>(d_out + from);
    sum += a.x * b.x + a.y * b.y;
  }
  sum = whole<32>(sum);
  if (lane == 0) delta[row] = sum;
}

/// A block has 64 queries and goes over the keys that they see.
template <int size>
__global__ void __launch_bounds__(sides<size>::threads)
    queries_kernel(float* d_q, const float* delta, const float* q, const float* k, const float* v, const float* lse,
                   const float* d_out, int tokens, bool causal, float scale) {
  constexpr int shares = sides<size>::shares, pitch = sides<size>::pitch;
  __shared__ alignas(16) float tiles[2][rows_of_tile * pitch];
  const int share = threadIdx.x % shares, row = threadIdx.x / shares, part = share * (own + 4);
  const int first = blockIdx.x * rows_of_block, query = first + row;
  const std::size_t head = static_cast<std::size_t>(blockIdx.y) * tokens, from = head * size;
  float of_q[own], of_d[own], sum[own] = {};
  take<size>(of_q, tiles[0], q + from, first, tokens, row, share);
  take<size>(of_d, tiles[0], d_out + from, first, tokens, row, share);
  const float own_lse = query < tokens ? lse[head + query] : 0.0f;
  const float own_delta = query < tokens ? delta[head + query] : 0.0f;
  const int seen = causal ? min(first + rows_of_block, tokens) : tokens;
  for (int k0 = 0; k0 < seen; k0 += rows_of_tile) {
    __syncthreads();  // all threads are done with the tiles before
    fetch<size>(tiles[0], k + from, k0, tokens);
    fetch<size>(tiles[1], v + from, k0, tokens);
    __syncthreads();
    for (int j = 0; j < rows_of_tile; ++j) {
      const float* const of_k = tiles[0] + j * pitch + part;
      const float score = whole<shares>(product(of_q, of_k)) * scale;
      const float d_p = whole<shares>(product(of_d, tiles[1] + j * pitch + part));
      if (k0 + j >= tokens || query >= tokens || (causal && k0 + j > query)) continue;
      add(sum, expf(score - own_lse) * (d_p - own_delta) * scale, of_k);
    }
  }
  give<size>(d_q + from, tiles[0], sum, first, tokens, row, share);
}

/// A block has 64 keys and goes over the queries that see them.
template <int size>
__global__ void __launch_bounds__(sides<size>::threads)
    keys_kernel(float* d_k, float* d_v, const float* delta, const float* q, const float* k, const float* v,
                const float* lse, const float* d_out, int tokens, bool causal, float scale) {
  constexpr int shares = sides<size>::shares, pitch = sides<size>::pitch;
  __shared__ alignas(16) float tiles[2][rows_of_tile * pitch];
  __shared__ float of_rows[2][rows_of_tile];
  const int share = threadIdx.x % shares, row = threadIdx.x / shares, part = share * (own + 4);
  const int first = blockIdx.x * rows_of_block, key = first + row;
  const std::size_t head = static_cast<std::size_t>(blockIdx.y) * tokens, from = head * size;
  float of_k[own], of_v[own], sum_k[own] = {}, sum_v[own] = {};
  take<size>(of_k, tiles[0], k + from, first, tokens, row, share);
  take<size>(of_v, tiles[0], v + from, first, tokens, row, share);
  for (int q0 = causal ? first : 0; q0 < tokens; q0 += rows_of_tile) {
    __syncthreads();
    fetch<size>(tiles[0], q + from, q0, tokens);
    fetch<size>(tiles[1], d_out + from, q0, tokens);
    if (const int at = q0 + static_cast<int>(threadIdx.x); threadIdx.x < rows_of_tile && at < tokens) {
      of_rows[0][threadIdx.x] = lse[head + at];
      of_rows[1][threadIdx.x] = delta[head + at];
    }
    __syncthreads();
    for (int j = 0; j < rows_of_tile; ++j) {
      const float *const of_q = tiles[0] + j * pitch + part, *const of_d = tiles[1] + j * pitch + part;
      const float score = whole<shares>(product(of_k, of_q)) * scale, d_p = whole<shares>(product(of_v, of_d));
      if (q0 + j >= tokens || key >= tokens || (causal && key > q0 + j)) continue;
      const float weight = expf(score - of_rows[0][j]);
      add(sum_v, weight, of_d);
      add(sum_k, weight * (d_p - of_rows[1][j]) * scale, of_q);
    }
  }
  give<size>(d_k + from, tiles[0], sum_k, first, tokens, row, share);
  give<size>(d_v + from, tiles[0], sum_v, first, tokens, row, share);
}

template <int size>
void launch(float* d_q, float* d_k, float* d_v, const float* delta, const float* q, const float* k, const float* v,
            const float* lse, const float* d_out, int heads, int tokens, bool causal, cudaStream_t stream) {
  const dim3 grid((tokens - 1) / rows_of_block + 1, heads);
  const float scale = 1.0f / sqrtf(static_cast<float>(size));
  queries_kernel<size>
      <<<grid, sides<size>::threads, 0, stream>>>(d_q, delta, q, k, v, lse, d_out, tokens, causal, scale);
  keys_kernel<size>
      <<<grid, sides<size>::threads, 0, stream>>>(d_k, d_v, delta, q, k, v, lse, d_out, tokens, causal, scale);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void attention_backward(float* d_q, float* d_k, float* d_v, float* delta, const float* q, const float* k,
                        const float* v, const float* out, const float* lse, const float* d_out, int heads, int tokens,
                        int size, bool causal, cudaStream_t stream) {
  constexpr int warps = 8;
  const int rows = heads * tokens;
  delta_kernel<<<(rows - 1) / warps + 1, 32 * warps, 0, stream>>>(delta, out, d_out, rows, size);
  LAB_CUDA_CHECK(cudaGetLastError());
  (size == 64 ? launch<64> : launch<128>)(d_q, d_k, d_v, delta, q, k, v, lse, d_out, heads, tokens, causal, stream);
}

}  // namespace lab11
