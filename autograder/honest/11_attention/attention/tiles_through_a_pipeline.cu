#include <cooperative_groups.h>
#include <cuda/pipeline>
#include <cuda/std/tuple>
#include <lab/device.hpp>
#include "attention.hpp"

namespace cg = cooperative_groups;
namespace lab11 {
namespace {

// 64 queries per block, two threads per query, 16 keys per tile, two tiles in turn
constexpr int queries = 64, keys = 16, threads = 2 * queries;

template <class T, int size>
struct tiles {
  alignas(16) T k[2][keys][size];
  alignas(16) T v[2][keys][size];
};

template <class T, int size>
__global__ void __launch_bounds__(threads) pipelined(T* out, float* lse, const T* q, const T* k, const T* v, int tokens, bool causal) {
  extern __shared__ uint4 raw[];
  auto& s = *reinterpret_cast<tiles<T, size>*>(raw);
  const auto block = cg::this_thread_block();
  const auto pair = cg::tiled_partition<2>(block);
  const size_t head = size_t(blockIdx.y) * tokens * size;
  const int first = blockIdx.x * queries, query = first + pair.meta_group_rank(), half = pair.thread_rank() * (size / 2);
  const int end = causal ? min(first + queries, tokens) : tokens, count = (end + keys - 1) / keys;

  auto pipe = cuda::make_pipeline();
  const auto fetch = [&](int tile) {
    pipe.producer_acquire();
    for (int i = block.thread_rank(); tile < count && i < keys * size * int(sizeof(T)) / 16; i += threads) {
      const int row = tile * keys + i * 16 / int(sizeof(T)) / size, at = i * 16 / int(sizeof(T)) % size;
      auto [to_k, to_v] = cuda::std::tuple<T*, T*>(&s.k[tile % 2][row % keys][at], &s.v[tile % 2][row % keys][at]);
      if (row < tokens) {
        cuda::memcpy_async(to_k, k + head + size_t(row) * size + at, cuda::aligned_size_t<16>(16), pipe);
        cuda::memcpy_async(to_v, v + head + size_t(row) * size + at, cuda::aligned_size_t<16>(16), pipe);
      } else {
        *reinterpret_cast<uint4*>(to_k) = uint4{};
        *reinterpret_cast<uint4*>(to_v) = uint4{};
      }
    }
    pipe.producer_commit();
  };

  float mine[size / 2], sum[size / 2] = {}, most = -INFINITY, total = 0;
  for (int i = 0; i < size / 2; ++i) mine[i] = query < tokens ? float(q[head + size_t(query) * size + half + i]) / sqrtf(float(size)) : 0;
  fetch(0);
  for (int tile = 0; tile < count; ++tile) {
    fetch(tile + 1);
    cuda::pipeline_consumer_wait_prior<1>(pipe);
    block.sync();
    for (int j = 0; j < keys; ++j) {
      float score = 0;
      for (int i = 0; i < size / 2; ++i) score += mine[i] * float(s.k[tile % 2][j][half + i]);
      score += pair.shfl_xor(score, 1);
      const int key = tile * keys + j;
      if (key >= tokens || (causal && key > query)) continue;
      const float now = fmaxf(most, score), kept = expf(most - now), weight = expf(score - now);
      most = now;
      total = total * kept + weight;
      for (int i = 0; i < size / 2; ++i) sum[i] = sum[i] * kept + weight * float(s.v[tile % 2][j][half + i]);
    }
    block.sync();
    pipe.consumer_release();
  }
  if (query >= tokens) return;
  for (int i = 0; i < size / 2; ++i) out[head + size_t(query) * size + half + i] = sum[i] / total;
  if (half == 0) lse[size_t(blockIdx.y) * tokens + query] = most + logf(total);
}

template <class T>
void launch(T* out, float* lse, const T* q, const T* k, const T* v, int heads, int tokens, int size, bool causal, cudaStream_t stream) {
  const auto go = [&]<int s>(std::integral_constant<int, s>) {
    constexpr int bytes = sizeof(tiles<T, s>);
    LAB_CUDA_CHECK(cudaFuncSetAttribute(pipelined<T, s>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    pipelined<T, s><<<dim3((tokens + queries - 1) / queries, heads), threads, bytes, stream>>>(out, lse, q, k, v, tokens, causal);
    LAB_CUDA_CHECK(cudaGetLastError());
  };
  if (size == 64) go(std::integral_constant<int, 64>());
  else go(std::integral_constant<int, 128>());
}

// decoding: one block per part, one thread per column; each score by a warp
template <int size>
__global__ void __launch_bounds__(128) part(float* workspace, const bf16* q, const bf16* k, const bf16* v, int tokens) {
  __shared__ float scores[64];
  const int t = threadIdx.x, lane = t % 32, parts = gridDim.x, each = (tokens + parts - 1) / parts;
  const int begin = blockIdx.x * each, end = min(begin + each, tokens);
  const size_t head = size_t(blockIdx.y) * tokens * size;
  float most = -INFINITY, total = 0, sum = 0;
  for (int at = begin; at < end; at += 64) {
    const int here = min(64, end - at);
    for (int j = t / 32; j < here; j += 4) {
      float score = 0;
      for (int i = lane; i < size; i += 32) score += float(q[blockIdx.y * size + i]) * float(k[head + size_t(at + j) * size + i]);
      for (int step = 16; step > 0; step /= 2) score += __shfl_down_sync(0xFFFFFFFF, score, step);
      if (lane == 0) scores[j] = score / sqrtf(float(size));
    }
    __syncthreads();
    float now = most;
    for (int j = 0; j < here; ++j) now = fmaxf(now, scores[j]);
    total *= expf(most - now);
    sum *= expf(most - now);
    for (int j = 0; j < here; ++j) {
      const float weight = expf(scores[j] - now);
      total += weight;
      if (t < size) sum += weight * float(v[head + size_t(at + j) * size + t]);
    }
    most = now;
    __syncthreads();
  }
  float* const to = workspace + (size_t(blockIdx.y) * parts + blockIdx.x) * (size + 2);
  if (t < size) to[t] = sum;
  if (t == 0) to[size] = most, to[size + 1] = total;
}

template <int size>
__global__ void join(bf16* out, const float* workspace, int parts) {
  const float* const from = workspace + size_t(blockIdx.x) * parts * (size + 2);
  float most = -INFINITY, total = 0, sum = 0;
  for (int p = 0; p < parts; ++p) most = fmaxf(most, from[p * (size + 2) + size]);
  for (int p = 0; p < parts; ++p) {
    const float weight = expf(from[p * (size + 2) + size] - most);
    total += weight * from[p * (size + 2) + size + 1];
    sum += weight * from[p * (size + 2) + threadIdx.x];
  }
  out[size_t(blockIdx.x) * size + threadIdx.x] = __float2bfloat16(sum / total);
}

}  // namespace

void attention_fp32(float* out, float* lse, const float* q, const float* k, const float* v, int heads, int tokens, int size, bool causal, cudaStream_t stream) {
  launch(out, lse, q, k, v, heads, tokens, size, causal, stream);
}
void attention_bf16(bf16* out, float* lse, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens, int size, bool causal, cudaStream_t stream) {
  launch(out, lse, q, k, v, heads, tokens, size, causal, stream);
}
void decode_bf16(bf16* out, float* workspace, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens, int size, cudaStream_t stream) {
  const int parts = std::min(most_parts, (tokens + 127) / 128);
  if (size == 64) {
    part<64><<<dim3(parts, heads), 128, 0, stream>>>(workspace, q, k, v, tokens);
    join<64><<<heads, 64, 0, stream>>>(out, workspace, parts);
  } else {
    part<128><<<dim3(parts, heads), 128, 0, stream>>>(workspace, q, k, v, tokens);
    join<128><<<heads, 128, 0, stream>>>(out, workspace, parts);
  }
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab11
