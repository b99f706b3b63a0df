// Attention of one new token for each of many sequences, whose keys and values are in pages. A block takes one K/V head
// of a sequence, for all query heads that share it, and its warps take the sequence's pages in turn: a page number is
// loaded once for 16 tokens, and what follows is as contiguous as without pages.
#include "serving.hpp"

#include <lab/device.hpp>

namespace lab15 {
namespace {

using bf16 = __nv_bfloat16;

constexpr int warps = 8, threads = 32 * warps;

__device__ void widen(float (&to)[8], uint4 from) {
  const unsigned words[] = {from.x, from.y, from.z, from.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) to[i] = __uint_as_float(i % 2 ? words[i / 2] & 0xFFFF0000u : words[i / 2] << 16);
}

/// What a group of lanes has seen for one query head: the largest exponent, the sum of weights, a lane's 8 sums.
struct partial {
  float most = -INFINITY, total = 0.0f, sum[8] = {};

  __device__ void rescale(float highest) {
    const float kept = highest == -INFINITY ? 1.0f : exp2f(most - highest);
    most = highest;
    total *= kept;
#pragma unroll
    for (float& one : sum) one *= kept;
  }
  /// With that of the lanes `step` away.
  __device__ void join(int step) {
    const float other_most = __shfl_xor_sync(~0u, most, step);
    rescale(fmaxf(most, other_most));
    total += __shfl_xor_sync(~0u, total, step);
#pragma unroll
    for (float& one : sum) one += __shfl_xor_sync(~0u, one, step);
  }
};

/// A place in shared memory, with a gap after 32 floats: lanes that are 8 floats apart then hit different banks.
__host__ __device__ constexpr int gapped(int i) { return i + i / 32; }

template <int size, int group>
__global__ void __launch_bounds__(threads)
    paged_kernel(float* out, const float* q, const bf16* __restrict__ k, const bf16* __restrict__ v, const int* table,
                 const int* lengths, int kv_heads, int table_width, float factor) {
  constexpr int lanes = size / 8, tokens = 32 / lanes, at_once = 4, pitch = gapped(size);
  __shared__ float all[warps][pitch + 2], queries[group * pitch];
  const int sequence = blockIdx.x / kv_heads, kv_head = blockIdx.x % kv_heads, length = lengths[sequence];
  const int warp = threadIdx.x / 32, own_token = threadIdx.x % 32 / lanes, column = threadIdx.x % lanes * 8;
  const std::size_t first_query = static_cast<std::size_t>(blockIdx.x) * group * size;
  for (int i = threadIdx.x; i < group * size; i += threads) queries[gapped(i)] = q[first_query + i] * factor;
  __syncthreads();
  float mine[group][8];
#pragma unroll
  for (int g = 0; g < group; ++g)
#pragma unroll
    for (int i = 0; i < 8; ++i) mine[g][i] = queries[g * pitch + gapped(column) + i];

  partial seen[group];
  //! [pages]
  const int* const pages = table + static_cast<std::size_t>(sequence) * table_width;
  for (int begin = warp * page_tokens; begin < length; begin += warps * page_tokens) {
    const std::size_t page = static_cast<std::size_t>(pages[begin / page_tokens]) * page_tokens;
    for (int part = 0; part < page_tokens; part += at_once * tokens) {
      uint4 keys[at_once] = {}, values[at_once] = {};
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int row = part + i * tokens + own_token;
        if (begin + row >= length) continue;
        const std::size_t at = ((page + row) * kv_heads + kv_head) * size + column;
        keys[i] = __ldcs(reinterpret_cast<const uint4*>(k + at));
        values[i] = __ldcs(reinterpret_cast<const uint4*>(v + at));
      }
      //! [pages]
#pragma unroll
      for (int g = 0; g < group; ++g) {
        float score[at_once], highest = seen[g].most;
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          float x[8], product = 0.0f;
          widen(x, keys[i]);
#pragma unroll
          for (int j = 0; j < 8; ++j) product += mine[g][j] * x[j];
#pragma unroll
          for (int step = lanes / 2; step > 0; step /= 2) product += __shfl_xor_sync(~0u, product, step);
          score[i] = begin + part + i * tokens + own_token < length ? product : -INFINITY;
          highest = fmaxf(highest, score[i]);
        }
        if (highest == -INFINITY) continue;
        seen[g].rescale(highest);
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          const float weight = exp2f(score[i] - highest);
          float x[8];
          widen(x, values[i]);
          seen[g].total += weight;
#pragma unroll
          for (int j = 0; j < 8; ++j) seen[g].sum[j] += weight * x[j];
        }
      }
    }
  }

  // The lane groups of a warp, then the warps of the block.
#pragma unroll
  for (int g = 0; g < group; ++g) {
#pragma unroll
    for (int step = lanes; step < 32; step *= 2) seen[g].join(step);
    __syncthreads();  // the previous head is done
    if (threadIdx.x % 32 < lanes) {
#pragma unroll
      for (int j = 0; j < 8; ++j) all[warp][gapped(column) + j] = seen[g].sum[j];
      if (column == 0) all[warp][pitch] = seen[g].most, all[warp][pitch + 1] = seen[g].total;
    }
    __syncthreads();
    if (threadIdx.x >= size) continue;
    float highest = -INFINITY, total = 0.0f, sum = 0.0f;
#pragma unroll
    for (int w = 0; w < warps; ++w) highest = fmaxf(highest, all[w][pitch]);
#pragma unroll
    for (int w = 0; w < warps; ++w) {
      const float weight = exp2f(all[w][pitch] - highest);
      total += weight * all[w][pitch + 1];
      sum += weight * all[w][gapped(threadIdx.x)];
    }
    out[first_query + g * size + threadIdx.x] = sum / total;
  }
}

}  // namespace

void paged_attention(float* out, const float* q, const bf16* k, const bf16* v, const int* table, const int* lengths,
                     int sequences, int heads, int kv_heads, int size, int table_width, cudaStream_t stream) {
  const float factor = 1.44269504f / sqrtf(static_cast<float>(size));  // e^x = 2^(x log2(e))
  const auto run = [&](auto kernel) {
    kernel<<<sequences * kv_heads, threads, 0, stream>>>(out, q, k, v, table, lengths, kv_heads, table_width, factor);
    LAB_CUDA_CHECK(cudaGetLastError());
  };
  const auto for_group = [&]<int of_head>() {
    switch (heads / kv_heads) {
      case 1: return run(paged_kernel<of_head, 1>);
      case 2: return run(paged_kernel<of_head, 2>);
      case 4: return run(paged_kernel<of_head, 4>);
      default: return run(paged_kernel<of_head, 8>);
    }
  };
  if (size == 64)
    for_group.operator()<64>();
  else
    for_group.operator()<128>();
}

}  // namespace lab15
