// Attention of one new token for each of many sequences, whose keys and values are in pages. A block takes one K/V head
// of a sequence, for all query heads that share it, and its warps take the sequence's pages in turn. A warp knows its
// next 32 page numbers and copies ahead, so it does not wait for the table. Tensor cores do the arithmetic: they
// multiply 16 rows at a time, and there are at most 8 query heads, so the other rows hold what bf16 leaves of a number.
#include "serving.hpp"

#include <cuda_pipeline.h>
#include <lab/device.hpp>
#include <lab/tensor_core.hpp>

namespace lab15 {
namespace {

using bf16 = __nv_bfloat16;

constexpr int warps = 4, stages = 3;

/// Two neighbouring numbers, each as a sum of three bf16: products with bf16 are then as exact as those of floats.
struct parts {
  unsigned of[3];
  __device__ parts(float low, float high) {
#pragma unroll
    for (unsigned& part : of) {
      const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
      part = *reinterpret_cast<const unsigned*>(&both);
      low -= __uint_as_float(part << 16), high -= __uint_as_float(part & 0xFFFF0000u);
    }
  }
};

/// Row r of a tile has a part of head r % heads: with 4 heads part r / 4, and the last rows are empty; with 8 heads
/// part r / 8, and a second tile has the third one above empty rows. A lane's two rows are of the same head.
template <int heads>
struct rows {
  bool upper = threadIdx.x % 32 / 4 < heads;
  __device__ unsigned first(const parts& p) const { return upper ? p.of[0] : p.of[1]; }
  __device__ unsigned second(const parts& p) const { return heads == 8 ? p.of[1] : upper ? p.of[2] : 0; }
  /// The sum of all parts, in each lane that has one of them.
  __device__ float join(float first, float second) const {
    const float two = first + second;
    return heads == 4 ? two + __shfl_xor_sync(~0u, two, 16) : two;
  }
};

/// Where 16 bytes of a row are in shared memory: eight rows then have the same columns in different banks.
template <int size>
__device__ int place(int row, int piece) {
  return row * (size / 8) + (piece ^ row % 8);
}

/// A page of K and one of V, for one head, are a stage of a warp's ring. While one is used, the next ones are on their
/// way.
template <int size, int group>
__global__ void __launch_bounds__(32 * warps)
    paged_kernel(float* out, const float* q, const bf16* __restrict__ k, const bf16* __restrict__ v, const int* table,
                 const int* lengths, int kv_heads, int table_width, float factor) {
  constexpr int pieces = size / 8, page = page_tokens * pieces, heads = group == 8 ? 8 : 4,
                pitch = size + 8;  // lanes of different heads hit different banks
  extern __shared__ uint4 ring[];  // (warps, stages, 2, page); at the end (warps, group, pitch) floats
  __shared__ alignas(8) float queries[group][pitch];
  const int sequence = blockIdx.x / kv_heads, kv_head = blockIdx.x % kv_heads, length = lengths[sequence];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, head = lane / 4 % heads, pair = lane % 4 * 2;
  const std::size_t first_query = static_cast<std::size_t>(blockIdx.x) * group * size;
  const int pages = (length - 1) / page_tokens + 1, steps = (pages - warp + warps - 1) / warps;
  uint4* const own = ring + warp * stages * 2 * page;

  // A lane holds the number of one of the warp's next 32 pages. The first ones are loaded together with the length.
  const int* const numbers = table + static_cast<std::size_t>(sequence) * table_width;
  const auto numbers_from = [&](int step) {
    const int i = warp + (step + lane) * warps;
    return i < table_width ? numbers[i] : 0;
  };
  int upcoming = numbers_from(0);
  const auto fetch = [&](int step) {
    if (step < steps) {
      if (step > 0 && step % 32 == 0) upcoming = numbers_from(step);
      const std::size_t number = __shfl_sync(~0u, upcoming, step % 32);
      uint4* const to = own + step % stages * 2 * page;
#pragma unroll
      for (int i = lane; i < page; i += 32) {
        //! [pages]
        const int row = i / pieces, piece = i % pieces;
        uint4 *const key = to + place<size>(row, piece), *const value = key + page;
        if ((warp + step * warps) * page_tokens + row < length) {
          const std::size_t at = ((number * page_tokens + row) * kv_heads + kv_head) * size + piece * 8;
          __pipeline_memcpy_async(key, k + at, sizeof(uint4));
          __pipeline_memcpy_async(value, v + at, sizeof(uint4));
        } else {
          *key = *value = uint4{};  // 0 times NaN is NaN
        }
        //! [pages]
      }
    }
    __pipeline_commit();
  };
  for (int step = 0; step < stages - 1; ++step) fetch(step);

  for (int i = threadIdx.x; i < group * size; i += 32 * warps)
    queries[i / size][i % size] = q[first_query + i] * factor;
  __syncthreads();
  const rows<heads> row_of;
  unsigned of_q[size / 16][4], rest_of_q[size / 16][2];
#pragma unroll
  for (int d = 0; d < size / 16; ++d)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float* const two = queries[head % group] + d * 16 + half * 8 + pair;
      const float2 both = head < group ? *reinterpret_cast<const float2*>(two) : float2{};
      const parts p(both.x, both.y);
      of_q[d][2 * half] = row_of.first(p), of_q[d][2 * half + 1] = row_of.second(p), rest_of_q[d][half] = p.of[2];
    }

  float most = -INFINITY, total = 0.0f, sum[pieces][4] = {};
  for (int step = 0; step < steps; ++step) {
    __pipeline_wait_prior(stages - 2);
    __syncwarp();  // all lanes' copies are there, and all are done with the stage that is filled next
    fetch(step + stages - 1);
    const uint4 *const keys = own + step % stages * 2 * page, *const values = keys + page;

    float products[2][4] = {};  // of 8 tokens each
#pragma unroll
    for (int n = 0; n < 2; ++n)
#pragma unroll
      for (int d = 0; d < size / 16; d += 2) {
        unsigned of_k[4];
        lab::ldmatrix(of_k, keys + place<size>(8 * n + lane % 8, 2 * d + lane / 8));
        lab::mma(products[n], of_q[d], {of_k[0], of_k[1]});
        lab::mma(products[n], of_q[d + 1], {of_k[2], of_k[3]});
        if constexpr (heads == 8) {
          lab::mma(products[n], {rest_of_q[d][0], 0, rest_of_q[d][1], 0}, {of_k[0], of_k[1]});
          lab::mma(products[n], {rest_of_q[d + 1][0], 0, rest_of_q[d + 1][1], 0}, {of_k[2], of_k[3]});
        }
      }
    float weight[2][2], highest = most;
#pragma unroll
    for (int n = 0; n < 2; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float score = row_of.join(products[n][i], products[n][i + 2]);
        weight[n][i] = (warp + step * warps) * page_tokens + 8 * n + pair + i < length ? score : -INFINITY;
        highest = fmaxf(highest, weight[n][i]);
      }
    highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 1));
    highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 2));
    if (__any_sync(~0u, highest > most)) {
      const float kept = exp2f(most - highest);
      most = highest;
      total *= kept;
#pragma unroll
      for (auto& four : sum)
        for (float& one : four) one *= kept;
    }
    unsigned of_weights[4], rest_of_weights[2];
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int i = 0; i < 2; ++i) total += weight[n][i] = exp2f(weight[n][i] - most);
      const parts p(weight[n][0], weight[n][1]);
      of_weights[2 * n] = row_of.first(p), of_weights[2 * n + 1] = row_of.second(p), rest_of_weights[n] = p.of[2];
    }
#pragma unroll
    for (int d = 0; d < pieces; d += 2) {
      unsigned of_v[4];
      lab::ldmatrix_trans(of_v, values + place<size>(lane % 16, d + lane / 16));
      lab::mma(sum[d], of_weights, {of_v[0], of_v[1]});
      lab::mma(sum[d + 1], of_weights, {of_v[2], of_v[3]});
      if constexpr (heads == 8) {
        lab::mma(sum[d], {rest_of_weights[0], 0, rest_of_weights[1], 0}, {of_v[0], of_v[1]});
        lab::mma(sum[d + 1], {rest_of_weights[0], 0, rest_of_weights[1], 0}, {of_v[2], of_v[3]});
      }
    }
  }

  // The lanes of a row, then the warps of the block.
  total += __shfl_xor_sync(~0u, total, 1);
  total += __shfl_xor_sync(~0u, total, 2);
  __pipeline_wait_prior(0);
  __syncthreads();  // all warps are done with the ring
  float(*const all)[group][pitch] = reinterpret_cast<float(*)[group][pitch]>(ring);
#pragma unroll
  for (int d = 0; d < pieces; ++d) {
    const float2 joined{row_of.join(sum[d][0], sum[d][2]), row_of.join(sum[d][1], sum[d][3])};
    if (lane / 4 < group) *reinterpret_cast<float2*>(&all[warp][head][8 * d + pair]) = joined;
  }
  if (lane / 4 < group && pair == 0) all[warp][head][size] = most, all[warp][head][size + 1] = total;
  __syncthreads();
  for (int i = threadIdx.x; i < group * size; i += 32 * warps) {
    const int h = i / size;
    float highest = -INFINITY, all_weights = 0.0f, all_values = 0.0f;
    for (int w = 0; w < warps; ++w) highest = fmaxf(highest, all[w][h][size]);
    for (int w = 0; w < warps; ++w) {
      const float kept = exp2f(all[w][h][size] - highest);
      all_weights += kept * all[w][h][size + 1];
      all_values += kept * all[w][h][i % size];
    }
    out[first_query + i] = all_values / all_weights;
  }
}

}  // namespace

void paged_attention(float* out, const float* q, const bf16* k, const bf16* v, const int* table, const int* lengths,
                     int sequences, int heads, int kv_heads, int size, int table_width, cudaStream_t stream) {
  const float factor = 1.44269504f / sqrtf(static_cast<float>(size));  // e^x = 2^(x log2(e))
  const int bytes = warps * stages * 2 * page_tokens * size * static_cast<int>(sizeof(bf16));
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
