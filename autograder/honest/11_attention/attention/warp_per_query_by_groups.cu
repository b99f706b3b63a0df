#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <lab/device.hpp>
#include <type_traits>
#include "attention.hpp"

namespace cg = cooperative_groups;

// one template for float and bf16, for attention and for decoding: a warp has a query, and goes over the keys
template <class T>
__device__ inline float as_float(T x) {
  if constexpr (std::is_same_v<T, float>) return x;
  else return __bfloat162float(x);
}
template <class T>
__device__ inline T from_float(float x) {
  if constexpr (std::is_same_v<T, float>) return x;
  else return __float2bfloat16(x);
}

template <class T, int size>
__global__ void __launch_bounds__(128) per_query(T* __restrict__ out, float* lse, const T* __restrict__ q, const T* __restrict__ k, const T* __restrict__ v, int queries, int tokens, bool causal) {
  constexpr int own = size / 32;
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int query = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  if (query >= queries) return;
  const size_t row = size_t(blockIdx.y) * queries + query;
  k += size_t(blockIdx.y) * tokens * size;
  v += size_t(blockIdx.y) * tokens * size;
  float mine[own], sum[own] = {};
  for (int i = 0; i < own; ++i) mine[i] = as_float(q[row * size + i * 32 + warp.thread_rank()]) * rsqrtf(float(size));
  float most = -INFINITY, total = 0;
  const int seen = causal ? query + 1 : tokens;
  for (int t = 0; t < seen; ++t) {
    float score = 0;
    for (int i = 0; i < own; ++i) score += mine[i] * as_float(k[size_t(t) * size + i * 32 + warp.thread_rank()]);
    score = cg::reduce(warp, score, cg::plus<float>());
    if (score > most) {
      const float kept = __expf(most - score);
      total *= kept;
      for (float& one : sum) one *= kept;
      most = score;
    }
    const float weight = __expf(score - most);
    total += weight;
    for (int i = 0; i < own; ++i) sum[i] += weight * as_float(v[size_t(t) * size + i * 32 + warp.thread_rank()]);
  }
  for (int i = 0; i < own; ++i) out[row * size + i * 32 + warp.thread_rank()] = from_float<T>(sum[i] / total);
  if (lse && warp.thread_rank() == 0) lse[row] = most + logf(total);
}

template <class T>
static void launch(T* out, float* lse, const T* q, const T* k, const T* v, int heads, int queries, int tokens, int size, bool causal, cudaStream_t stream) {
  const dim3 grid((queries + 3) / 4, heads);
  if (size == 64) per_query<T, 64><<<grid, 128, 0, stream>>>(out, lse, q, k, v, queries, tokens, causal);
  else per_query<T, 128><<<grid, 128, 0, stream>>>(out, lse, q, k, v, queries, tokens, causal);
  LAB_CUDA_CHECK(cudaGetLastError());
}

namespace lab11 {
void attention_fp32(float* out, float* lse, const float* q, const float* k, const float* v, int heads, int tokens, int size, bool causal, cudaStream_t stream) {
  launch(out, lse, q, k, v, heads, tokens, tokens, size, causal, stream);
}
void attention_bf16(bf16* out, float* lse, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens, int size, bool causal, cudaStream_t stream) {
  launch(out, lse, q, k, v, heads, tokens, tokens, size, causal, stream);
}
void decode_bf16(bf16* out, float*, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens, int size, cudaStream_t stream) {
  launch<bf16>(out, nullptr, q, k, v, heads, 1, tokens, size, false, stream);
}
}  // namespace lab11
