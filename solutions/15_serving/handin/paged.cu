// Attention of one new token for each of many sequences, whose keys and values are in pages. A block takes one K/V head
// of a sequence, for all query heads that share it, and its warps take the sequence's pages in turn. A warp knows its
// next 32 page numbers and copies ahead, so it does not wait for the table.
#include "serving.hpp"

#include <cuda_pipeline.h>
#include <lab/device.hpp>

namespace lab15 {
namespace {

using bf16 = __nv_bfloat16;

constexpr int stages = 2;
/// The sums of 8 query heads need more registers than 12 warps leave.
__host__ __device__ constexpr int warps_for(int group) { return group < 8 ? 12 : 8; }

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

/// A page of K and one of V, for one head, are a stage of a warp's ring: a lane copies the rows that it will read, so
/// that it waits for its own copies only. While one stage is used, the next is on its way.
template <int size, int group>
__global__ void __launch_bounds__(32 * warps_for(group))
    paged_kernel(float* out, const float* q, const bf16* __restrict__ k, const bf16* __restrict__ v, const int* table,
                 const int* lengths, int kv_heads, int table_width, float factor) {
  constexpr int warps = warps_for(group), threads = 32 * warps;
  constexpr int lanes = size / 8, tokens = 32 / lanes, at_once = 4, pitch = gapped(size);
  constexpr int rows = page_tokens / tokens;  // by each lane of a page
  extern __shared__ uint4 ring[];             // (warps, stages, 2, rows, 32)
  __shared__ float all[warps][pitch + 2], queries[group * pitch];
  const int sequence = blockIdx.x / kv_heads, kv_head = blockIdx.x % kv_heads, length = lengths[sequence];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, own_token = lane / lanes, column = lane % lanes * 8;
  const std::size_t first_query = static_cast<std::size_t>(blockIdx.x) * group * size;
  const int pages = (length - 1) / page_tokens + 1, steps = (pages - warp + warps - 1) / warps;
  uint4* const own = ring + warp * stages * 2 * rows * 32 + lane;

  int upcoming = 0;  // a lane holds the number of one of the warp's next 32 pages
  const auto fetch = [&](int step) {
    if (step < steps) {
      const int* const numbers = table + static_cast<std::size_t>(sequence) * table_width;
      if (step % 32 == 0)
        if (const int i = warp + (step + lane) * warps; i < pages) upcoming = numbers[i];
      const std::size_t page = __shfl_sync(~0u, upcoming, step % 32);
      //! [pages]
      uint4* const to = own + step % stages * 2 * rows * 32;
      for (int i = 0; i < rows; ++i) {
        const int row = i * tokens + own_token;
        if ((warp + step * warps) * page_tokens + row >= length) continue;
        const std::size_t at = ((page * page_tokens + row) * kv_heads + kv_head) * size + column;
        __pipeline_memcpy_async(to + i * 32, k + at, sizeof(uint4));
        __pipeline_memcpy_async(to + (rows + i) * 32, v + at, sizeof(uint4));
      }
      //! [pages]
    }
    __pipeline_commit();
  };
  for (int step = 0; step < stages - 1; ++step) fetch(step);

  for (int i = threadIdx.x; i < group * size; i += threads) queries[gapped(i)] = q[first_query + i] * factor;
  __syncthreads();
  float mine[group][8];
#pragma unroll
  for (int g = 0; g < group; ++g)
#pragma unroll
    for (int i = 0; i < 8; ++i) mine[g][i] = queries[g * pitch + gapped(column) + i];

  partial seen[group];
  for (int step = 0; step < steps; ++step) {
    __pipeline_wait_prior(stages - 2);
    fetch(step + stages - 1);
    const uint4* const from = own + step % stages * 2 * rows * 32;
    const int begin = (warp + step * warps) * page_tokens;
    for (int part = 0; part < rows; part += at_once) {
      uint4 keys[at_once], values[at_once];
      bool there[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        there[i] = begin + (part + i) * tokens + own_token < length;
        keys[i] = there[i] ? from[(part + i) * 32] : uint4{};
        values[i] = there[i] ? from[(rows + part + i) * 32] : uint4{};
      }
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
          for (int s = lanes / 2; s > 0; s /= 2) product += __shfl_xor_sync(~0u, product, s);
          score[i] = there[i] ? product : -INFINITY;
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
  const int warps = warps_for(heads / kv_heads),
            bytes = warps * stages * 2 * page_tokens * size * static_cast<int>(sizeof(bf16));
  const auto run = [&](auto kernel) {
    LAB_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<sequences * kv_heads, 32 * warps, bytes, stream>>>(out, q, k, v, table, lengths, kv_heads, table_width,
                                                                factor);
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
