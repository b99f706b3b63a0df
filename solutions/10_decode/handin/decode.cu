// One token at a time: every weight is used once, so all that counts is to load each byte once and to keep enough bytes
// in flight. Position and token are read from device memory, so one graph serves all tokens. A kernel is launched
// before the one before it ends: it loads its first weights, or keys, then waits (programmatic dependent launch). In
// decode_token, one kernel rotates, appends, attends and joins the parts: each wait costs about two microseconds, and
// there are five per layer instead of seven.
#include "decode.hpp"

#include <algorithm>
#include <utility>

#include <lab/device.hpp>

namespace lab10 {
namespace {

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

int multiprocessors() {
  static const int here = [] {
    int count = 0;
    LAB_CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    return count;
  }();
  return here;
}

__device__ void widen(float (&to)[8], uint4 from) {
  const unsigned words[] = {from.x, from.y, from.z, from.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) to[i] = __uint_as_float(i % 2 ? words[i / 2] & 0xFFFF0000u : words[i / 2] << 16);
}

__device__ uint4 eight(const bf16* from) { return *reinterpret_cast<const uint4*>(from); }

/// From here on a kernel may read what the launch before it wrote, and write. Every thread comes here. What follows in
/// the stream may already begin: it waits here, too.
__device__ void await_previous() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
}

/// Launches a kernel that calls await_previous.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, int block, cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(block);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  LAB_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...));
}

// ---- products -----------------------------------------------------------------------------------------------------

constexpr int rows_together = 8, most_warps = 16;

enum class epilogue { plain, gate };

/// A block computes 8 rows, or 4 and the 4 that they gate. Its warps share the columns, so x is loaded once per 8 rows,
/// and each lane has 8 loads of 16 bytes in flight. The norm is one factor for all rows: the sum of squares comes from
/// the same loads of x, and the division is the last step.
template <epilogue after, bool normalized, int warps>
__global__ void __launch_bounds__(32 * warps)
    product_kernel(float* y, const bf16* __restrict__ w, const float* x, const bf16* __restrict__ norm,
                   const float* residual, int rows, int columns) {
  constexpr int own = after == epilogue::gate ? rows_together / 2 : rows_together;  // rows of y
  constexpr int columns_together = 32 * warps * 8;
  __shared__ float parts[rows_together + 1][warps];
  const int first = blockIdx.x * own, warp = threadIdx.x / 32;
  const bf16* row[rows_together];
#pragma unroll
  for (int r = 0; r < rows_together; ++r)
    row[r] = w + static_cast<std::size_t>(min(first + r % own, rows - 1) + r / own * rows) * columns;
  float sum[rows_together + 1] = {};  // the last one is that of x^2
  uint4 weights[rows_together] = {}, gains = {};
  const auto load = [&](int c) {
#pragma unroll
    for (int r = 0; r < rows_together; ++r) weights[r] = __ldcs(reinterpret_cast<const uint4*>(row[r] + c));
    if (normalized) gains = eight(norm + c);
  };
  int c = threadIdx.x * 8;
  if (c < columns) load(c);
  await_previous();
  const int mine = threadIdx.x, at = first + mine;
  const bool writes = mine < own && at < rows;
  const float before = residual && writes ? residual[at] : 0.0f;
  while (c < columns) {
    const float4 low = *reinterpret_cast<const float4*>(x + c), high = *reinterpret_cast<const float4*>(x + c + 4);
    float in[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    if (normalized) {
      float gain[8];
      widen(gain, gains);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        sum[rows_together] += in[i] * in[i];
        in[i] *= gain[i];
      }
    }
#pragma unroll
    for (int r = 0; r < rows_together; ++r) {
      float one[8];
      widen(one, weights[r]);
#pragma unroll
      for (int i = 0; i < 8; ++i) sum[r] += one[i] * in[i];
    }
    if ((c += columns_together) < columns) load(c);
  }
#pragma unroll
  for (int r = 0; r < rows_together + normalized; ++r) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum[r] += __shfl_xor_sync(~0u, sum[r], step);
    if (threadIdx.x % 32 == 0) parts[r][warp] = sum[r];
  }
  __syncthreads();
  if (!writes) return;
  float total[3] = {};  // of this row, of the row that it gates, of x^2
#pragma unroll
  for (int i = 0; i < warps; ++i) {
    total[0] += parts[mine][i];
    if (after == epilogue::gate) total[1] += parts[mine + own][i];
    if (normalized) total[2] += parts[rows_together][i];
  }
  const float factor = normalized ? rsqrtf(total[2] / static_cast<float>(columns) + 1e-5f) : 1.0f;
  const float result = total[0] * factor;
  if (after == epilogue::gate)
    y[at] = result / (1.0f + expf(-result)) * (total[1] * factor);
  else
    y[at] = result + before;
}

/// The fewer the rows, the more warps a block has: all multiprocessors together need enough loads in flight. A warp
/// without columns would only take registers from the next kernel's blocks, which wait with their first weights.
template <epilogue after, bool normalized, int warps = 4>
void launch_product(float* y, const bf16* w, const float* x, const bf16* norm, const float* residual, int rows,
                    int columns, cudaStream_t stream) {
  constexpr int own = after == epilogue::gate ? rows_together / 2 : rows_together;
  const int blocks = ceil_div(rows, own);
  if constexpr (warps < most_warps)
    if (blocks * warps < 20 * multiprocessors() && 32 * warps * 8 < columns)
      return launch_product<after, normalized, 2 * warps>(y, w, x, norm, residual, rows, columns, stream);
  launch(product_kernel<after, normalized, warps>, blocks, 32 * warps, stream, y, w, x, norm, residual, rows, columns);
}

// ---- the cache ----------------------------------------------------------------------------------------------------

/// Two neighbouring numbers, rotated.
__device__ float2 rotated(const float* from, const float* turn) {
  const float2 in = *reinterpret_cast<const float2*>(from), by = *reinterpret_cast<const float2*>(turn);
  return make_float2(in.x * by.x - in.y * by.y, in.y * by.x + in.x * by.y);
}

/// A block per head: first those of q, then of k, then of v. A thread has two neighbouring numbers.
__global__ void rotate_append_kernel(float* q, bf16* k_cache, bf16* v_cache, const float* qkv,
                                     const float* __restrict__ rotary, const int* position, int heads, int kv_heads,
                                     int size, int capacity) {
  await_previous();
  const int head = blockIdx.x, i = 2 * threadIdx.x, now = *position;
  const float* const from = qkv + head * size + i;
  const float2 turned = rotated(from, rotary + static_cast<std::size_t>(now) * size + i);
  if (head < heads) {
    *reinterpret_cast<float2*>(q + head * size + i) = turned;
    return;
  }
  const bool is_k = head < heads + kv_heads;
  const int kv_head = head - heads - (is_k ? 0 : kv_heads);
  const std::size_t place = (static_cast<std::size_t>(kv_head) * capacity + now) * size + i;
  const float2 kept = is_k ? turned : *reinterpret_cast<const float2*>(from);
  *reinterpret_cast<__nv_bfloat162*>((is_k ? k_cache : v_cache) + place) = __floats2bfloat162_rn(kept.x, kept.y);
}

// ---- attention ----------------------------------------------------------------------------------------------------

constexpr int warps = 8, threads = 32 * warps;

/// 2^x, where x <= 0.
__device__ float power_of_2(float x) { return exp2f(x); }

/// What a group of lanes, a warp or a block has seen for one query head: the largest exponent, the sum of weights, a
/// lane's 8 sums of values.
struct partial {
  float most = -INFINITY, total = 0.0f, sum[8] = {};

  __device__ void join(float other_most, float other_total, const float (&other)[8]) {
    const float highest = fmaxf(most, other_most);
    if (highest == -INFINITY) return;
    const float mine = power_of_2(most - highest), others = power_of_2(other_most - highest);
    most = highest;
    total = total * mine + other_total * others;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[i] = sum[i] * mine + other[i] * others;
  }
};

/// A place in shared memory, with a gap after 32 floats: lanes that are 8 floats apart then hit different banks.
__host__ __device__ constexpr int gapped(int i) { return i + i / 32; }

/// A block goes over one part of the keys of one K/V head, for all `group` query heads that use it: each key and value
/// is loaded once, whatever the group. `size / 8` lanes read a key together, 16 bytes each. The first 128 keys of a
/// part are loaded before the wait, except the newest, which the launch before may append. All threads call `prepare`
/// after the wait; it fills in the queries, times log2(e) / sqrt(size).
template <int size, int group, class F>
__device__ void attend_part(float* workspace, const bf16* k, const bf16* v, int newest, int capacity,
                            const F& prepare) {
  constexpr int lanes = size / 8, key_groups = threads / lanes, at_once = group > 4 ? 2 : 4;
  constexpr int pitch = gapped(size);
  __shared__ float all[warps][pitch + 2], queries[group * pitch];
  const int part = blockIdx.y, parts = gridDim.y, own_key = threadIdx.x / lanes, column = threadIdx.x % lanes * 8;
  const int share = newest / parts + 1;
  const int begin = part * share, end = min(begin + share, newest + 1);
  const std::size_t head = static_cast<std::size_t>(blockIdx.x) * capacity * size + column;

  uint4 keys[at_once] = {}, values[at_once] = {};
  const auto load = [&](int first, int lowest, int limit) {
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int key = first + i * key_groups + own_key;
      if (key < lowest || key >= limit) continue;
      keys[i] = __ldcs(reinterpret_cast<const uint4*>(k + head + static_cast<std::size_t>(key) * size));
      values[i] = __ldcs(reinterpret_cast<const uint4*>(v + head + static_cast<std::size_t>(key) * size));
    }
  };
  load(begin, 0, min(end, newest));
  await_previous();
  prepare(queries, begin <= newest && newest < end);
  __syncthreads();
  load(begin, newest, end);
  float mine[group][8];
#pragma unroll
  for (int g = 0; g < group; ++g)
#pragma unroll
    for (int i = 0; i < 8; ++i) mine[g][i] = queries[g * pitch + gapped(column) + i];
  partial seen[group];
  for (int first = begin; first < end; first += key_groups * at_once) {
    if (first > begin) load(first, 0, end);
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
        score[i] = first + i * key_groups + own_key < end ? product : -INFINITY;
        highest = fmaxf(highest, score[i]);
      }
      if (highest == -INFINITY) continue;
      const float kept = power_of_2(seen[g].most - highest);
      seen[g].most = highest;
      seen[g].total *= kept;
#pragma unroll
      for (float& one : seen[g].sum) one *= kept;
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const float weight = power_of_2(score[i] - highest);
        float x[8];
        widen(x, values[i]);
        seen[g].total += weight;
#pragma unroll
        for (int j = 0; j < 8; ++j) seen[g].sum[j] += weight * x[j];
      }
    }
  }
  // The lane groups of a warp, then the warps of the block.
#pragma unroll
  for (int g = 0; g < group; ++g) {
#pragma unroll
    for (int step = lanes; step < 32; step *= 2) {
      float other[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) other[j] = __shfl_xor_sync(~0u, seen[g].sum[j], step);
      const float other_most = __shfl_xor_sync(~0u, seen[g].most, step);
      seen[g].join(other_most, __shfl_xor_sync(~0u, seen[g].total, step), other);
    }
    __syncthreads();  // the previous head is done
    const int warp = threadIdx.x / 32;
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
      const float weight = highest == -INFINITY ? 0.0f : power_of_2(all[w][pitch] - highest);
      total += weight * all[w][pitch + 1];
      sum += weight * all[w][gapped(threadIdx.x)];
    }
    float* to = workspace + ((blockIdx.x * group + g) * static_cast<std::size_t>(parts) + part) * (size + 2);
    to[threadIdx.x] = sum;
    if (threadIdx.x < 2) to[size + threadIdx.x] = threadIdx.x == 0 ? highest : total;
  }
}

/// A column of a query head's result, from those of `parts` parts.
template <int size>
__device__ float joined(const float* from, int parts, int column) {
  float highest = -INFINITY, total = 0.0f, sum = 0.0f;
  for (int p = 0; p < parts; ++p) highest = fmaxf(highest, __ldcg(from + p * (size + 2) + size));
  for (int p = 0; p < parts; ++p) {
    const float weight = power_of_2(__ldcg(from + p * (size + 2) + size) - highest);
    total += weight * __ldcg(from + p * (size + 2) + size + 1);
    sum += weight * __ldcg(from + p * (size + 2) + column);
  }
  return sum / total;
}

/// A block per part and K/V head.
template <int size, int group>
__global__ void __launch_bounds__(threads) attend_kernel(float* workspace, const float* q, const bf16* k, const bf16* v,
                                                         const int* position, int capacity, float factor) {
  attend_part<size, group>(workspace, k, v, *position, capacity, [&](float* queries, bool) {
    for (int i = threadIdx.x; i < group * size; i += threads)
      queries[gapped(i)] = q[blockIdx.x * group * size + i] * factor;
  });
}

/// A block per query head, a thread per column, goes over the parts.
template <int size>
__global__ void join_kernel(float* out, const float* workspace, int parts) {
  await_previous();
  out[blockIdx.x * size + threadIdx.x] =
      joined<size>(workspace + static_cast<std::size_t>(blockIdx.x) * parts * (size + 2), parts, threadIdx.x);
}

/// rotate_append and attend in one launch. Each block rotates the queries that it needs; the one whose part has the
/// newest token appends its key and value. The last block of a K/V head joins the parts: `done` counts those that are
/// ready, and is 0 before and afterwards.
template <int size, int group>
__global__ void __launch_bounds__(threads)
    attention_kernel(float* out, float* workspace, int* done, const float* qkv, bf16* k, bf16* v,
                     const float* __restrict__ rotary, const int* position, int capacity, float factor) {
  const int kv_head = blockIdx.x, kv_heads = gridDim.x, parts = gridDim.y, now = *position;
  attend_part<size, group>(workspace, k, v, now, capacity, [&](float* queries, bool append) {
    const float* const turns = rotary + static_cast<std::size_t>(now) * size;
    for (int i = 2 * threadIdx.x; i < group * size; i += 2 * threads) {
      const float2 q = rotated(qkv + kv_head * group * size + i, turns + i % size);
      queries[gapped(i)] = q.x * factor;
      queries[gapped(i + 1)] = q.y * factor;
    }
    if (append && threadIdx.x < size) {
      const int i = 2 * threadIdx.x % size;
      const bool is_k = threadIdx.x < size / 2;
      const float* const from = qkv + ((group + (is_k ? 0 : 1)) * kv_heads + kv_head) * size + i;
      const float2 kept = is_k ? rotated(from, turns + i) : *reinterpret_cast<const float2*>(from);
      *reinterpret_cast<__nv_bfloat162*>((is_k ? k : v) + (static_cast<std::size_t>(kv_head) * capacity + now) * size +
                                         i) = __floats2bfloat162_rn(kept.x, kept.y);
    }
  });
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(&done[kv_head], 1) == parts - 1;
    if (last) done[kv_head] = 0;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  for (int i = threadIdx.x; i < group * size; i += threads) {
    const int head = kv_head * group + i / size;
    out[head * size + i % size] =
        joined<size>(workspace + static_cast<std::size_t>(head) * parts * (size + 2), parts, i % size);
  }
}

/// A block per multiprocessor, if each has 128 keys; more blocks if each has 256. The grid must not depend on the
/// position: a graph replays it for every token.
int parts_of(int kv_heads, int capacity) {
  const int for_each = multiprocessors() / kv_heads, small = ceil_div(capacity, 128), large = ceil_div(capacity, 256);
  return std::clamp(std::max(std::min(for_each, small), std::min(4 * for_each, large)), 1, most_parts);
}

/// Calls f<size, group>().
template <class F>
void for_shape(int size, int group, const F& f) {
  const auto for_size = [&]<int s>() {
    if (group == 1) f.template operator()<s, 1>();
    if (group == 2) f.template operator()<s, 2>();
    if (group == 4) f.template operator()<s, 4>();
    if (group == 8) f.template operator()<s, 8>();
  };
  if (size == 64)
    for_size.template operator()<64>();
  else
    for_size.template operator()<128>();
}

/// What scores are multiplied by: e^x = 2^(x log2(e)).
float score_factor(int size) { return 1.44269504f / sqrtf(static_cast<float>(size)); }

// ---- the first and the last step ----------------------------------------------------------------------------------

__global__ void embed_kernel(float* x, const bf16* __restrict__ embedding, const int* token, int width, int* done,
                             int kv_heads) {
  await_previous();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < width) x[i] = __bfloat162float(embedding[static_cast<std::size_t>(*token) * width + i]);
  if (i < kv_heads) done[i] = 0;
}

struct candidate {
  float logit = -INFINITY;
  int token = 0;
  __device__ void join(float other_logit, int other) {
    if (other_logit > logit || (other_logit == logit && other < token)) logit = other_logit, token = other;
  }
  __device__ void join_lanes() {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) join(__shfl_xor_sync(~0u, logit, step), __shfl_xor_sync(~0u, token, step));
  }
};

constexpr int choose_threads = 256, choose_blocks = 64;

/// The first of the largest of each block's logits.
__global__ void choose_kernel(candidate* best_of, const float* logits, int vocabulary) {
  __shared__ candidate of_warp[choose_threads / 32];
  await_previous();
  candidate best;
  best.token = vocabulary;
  for (int i = blockIdx.x * choose_threads + threadIdx.x; i < vocabulary; i += choose_blocks * choose_threads)
    best.join(logits[i], i);
  best.join_lanes();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  best = of_warp[threadIdx.x % (choose_threads / 32)];
  best.join_lanes();
  if (threadIdx.x == 0) best_of[blockIdx.x] = best;
}

/// One warp.
__global__ void advance_kernel(int* chosen, const candidate* best_of, int* token, int* position) {
  await_previous();
  candidate best;
  for (int i = threadIdx.x; i < choose_blocks; i += 32) best.join(best_of[i].logit, best_of[i].token);
  best.join_lanes();
  if (threadIdx.x != 0) return;
  const int now = *position;
  chosen[now] = best.token;
  *token = best.token;
  *position = now + 1;
}

}  // namespace

void matvec(float* y, const bf16* w, const float* x, const float* residual, int rows, int columns,
            cudaStream_t stream) {
  launch_product<epilogue::plain, false>(y, w, x, nullptr, residual, rows, columns, stream);
}

void norm_matvec(float* y, const bf16* w, const float* x, const bf16* norm, int rows, int columns,
                 cudaStream_t stream) {
  launch_product<epilogue::plain, true>(y, w, x, norm, nullptr, rows, columns, stream);
}

void norm_gate(float* y, const bf16* w, const float* x, const bf16* norm, int rows, int columns, cudaStream_t stream) {
  launch_product<epilogue::gate, true>(y, w, x, norm, nullptr, rows, columns, stream);
}

void rotate_append(float* q, bf16* k_cache, bf16* v_cache, const float* qkv, const float* rotary, const int* position,
                   int heads, int kv_heads, int size, int capacity, cudaStream_t stream) {
  launch(rotate_append_kernel, heads + 2 * kv_heads, size / 2, stream, q, k_cache, v_cache, qkv, rotary, position,
         heads, kv_heads, size, capacity);
}

void attend(float* out, float* workspace, const float* q, const bf16* k_cache, const bf16* v_cache, const int* position,
            int heads, int kv_heads, int size, int capacity, cudaStream_t stream) {
  const int parts = parts_of(kv_heads, capacity);
  for_shape(size, heads / kv_heads, [&]<int s, int group>() {
    launch(attend_kernel<s, group>, dim3(kv_heads, parts), threads, stream, workspace, q, k_cache, v_cache, position,
           capacity, score_factor(s));
    launch(join_kernel<s>, heads, s, stream, out, workspace, parts);
  });
}

void decode_token(float* logits, const model& m, const state& s, cudaStream_t stream) {
  const auto& [layers, width, heads, kv_heads, size, hidden, vocabulary, capacity] = m.shape;
  const int of_heads = heads * size, of_qkv = (heads + 2 * kv_heads) * size;
  float* const x = s.scratch;
  float* const gated = x + width;
  float* const qkv = gated + hidden;
  float* const attention = qkv + of_qkv;
  float* const workspace = attention + of_heads;
  int* const done = reinterpret_cast<int*>(workspace + static_cast<std::size_t>(heads) * most_parts * (size + 2));
  const std::size_t cache_of_layer = static_cast<std::size_t>(kv_heads) * capacity * size;

  // Not launched early, so what wrote the weights has ended when the next kernel begins.
  embed_kernel<<<ceil_div(std::max(width, kv_heads), threads), threads, 0, stream>>>(x, m.embedding, s.token, width,
                                                                                     done, kv_heads);
  LAB_CUDA_CHECK(cudaGetLastError());
  for (int i = 0; i < layers; ++i) {
    const layer& l = m.layers[i];
    bf16* const k = s.k_cache + i * cache_of_layer;
    bf16* const v = s.v_cache + i * cache_of_layer;
    norm_matvec(qkv, l.qkv, x, l.norm1, of_qkv, width, stream);
    for_shape(size, heads / kv_heads, [&, kv_heads = kv_heads, capacity = capacity]<int of_head, int group>() {
      launch(attention_kernel<of_head, group>, dim3(kv_heads, parts_of(kv_heads, capacity)), threads, stream, attention,
             workspace, done, qkv, k, v, m.rotary, s.position, capacity, score_factor(of_head));
    });
    matvec(x, l.out, attention, x, width, of_heads, stream);
    norm_gate(gated, l.gate_up, x, l.norm2, hidden, width, stream);
    matvec(x, l.down, gated, x, width, hidden, stream);
  }
  norm_matvec(logits, m.embedding, x, m.norm, vocabulary, width, stream);
}

void generate(int* chosen, float* logits, const model& m, const state& s, int count, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t token = nullptr;
  //! [generate]
  LAB_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  decode_token(logits, m, s, stream);
  auto* const best_of = reinterpret_cast<candidate*>(s.scratch);  // x and all after it are no longer needed
  launch(choose_kernel, choose_blocks, choose_threads, stream, best_of, logits, m.shape.vocabulary);
  launch(advance_kernel, 1, 32, stream, chosen, best_of, s.token, s.position);
  LAB_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  LAB_CUDA_CHECK(cudaGraphInstantiate(&token, graph, 0));
  for (int i = 0; i < count; ++i) LAB_CUDA_CHECK(cudaGraphLaunch(token, stream));
  //! [generate]
  LAB_CUDA_CHECK(cudaGraphExecDestroy(token));
  LAB_CUDA_CHECK(cudaGraphDestroy(graph));
}

}  // namespace lab10
