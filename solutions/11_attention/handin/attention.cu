// Attention without the matrix of scores: a block keeps its queries, and goes over keys and values tile by tile, with
// the softmax of what it has seen so far (FlashAttention: Dao, Fu, Ermon, Rudra and Re, 2022).
#include "attention.hpp"

#include <cuda_pipeline_primitives.h>

#include <algorithm>

#include <lab/device.hpp>
#include <lab/tensor_core.hpp>

namespace lab11 {
namespace {

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

/// 2^x, where x <= 0; results below 2^-126 are 0.
__device__ float power_of_2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

constexpr float log2_e = 1.44269504f, ln_2 = 0.69314718f;

/// Scores are wanted as exponents of 2.
float factor_of(int size) { return log2_e / sqrtf(static_cast<float>(size)); }

// ---- FP32 ---------------------------------------------------------------------------------------------------------

// A thread has 64 columns of one query and of its sum of values: half of a head of 128, so that two neighbours share
// a query. All lanes of a warp read the same row of a tile, which is one wavefront.
constexpr int fp32_queries = 64, fp32_keys = 32, own = 64, at_once = 8;

/// A thread's part of a row begins where no other thread of the warp, with another part, hits its banks.
template <int size>
constexpr int fp32_pitch = size + 4 * (size / own - 1);

/// Calls use(row, column, where in the tile) for every fourth element of `rows` rows, neighbours by neighbouring
/// threads.
template <int size, class Use>
__device__ void each_4(int rows, const Use& use) {
  for (int at = threadIdx.x * 4; at < rows * size; at += fp32_queries * size / own * 4) {
    const int row = at / size, column = at % size;
    use(row, column, row * fp32_pitch<size> + column + column / own * 4);
  }
}

__device__ float4& four(float* of) { return *reinterpret_cast<float4*>(of); }
__device__ const float4& four(const float* of) { return *reinterpret_cast<const float4*>(of); }

template <int size>
__global__ void __launch_bounds__(fp32_queries* size / own)
    fp32_kernel(float* __restrict__ out, float* __restrict__ lse, const float* __restrict__ q,
                const float* __restrict__ k, const float* __restrict__ v, int tokens, bool causal, float factor) {
  constexpr int shares = size / own, pitch = fp32_pitch<size>;
  __shared__ alignas(16) float tile[2 * fp32_keys * pitch];  // first for all queries, then for keys and values
  float* const v_tile = tile + fp32_keys * pitch;
  const int share = threadIdx.x % shares, first = blockIdx.x * fp32_queries;
  const int row = threadIdx.x / shares, part = share * (own + 4), query = first + row;
  const std::size_t head = static_cast<std::size_t>(blockIdx.y) * tokens;
  const int seen = causal ? min(first + fp32_queries, tokens) : tokens;

  each_4<size>(fp32_queries, [&](int r, int column, int at) {
    four(tile + at) = first + r < tokens ? four(q + (head + first + r) * size + column) : make_float4(0, 0, 0, 0);
  });
  __syncthreads();
  float mine[own], sum[own] = {}, most = -INFINITY, total = 0.0f;
#pragma unroll
  for (int i = 0; i < own; i += 4) {
    const float4 x = four(tile + row * pitch + part + i);
    mine[i] = x.x * factor, mine[i + 1] = x.y * factor, mine[i + 2] = x.z * factor, mine[i + 3] = x.w * factor;
  }
  for (int k0 = 0; k0 < seen; k0 += fp32_keys) {
    __syncthreads();  // all threads are done with the previous tile
    each_4<size>(fp32_keys, [&](int r, int column, int at) {
      const bool inside = k0 + r < tokens;
      const std::size_t from = (head + k0 + r) * size + column;
      four(tile + at) = inside ? four(k + from) : make_float4(0, 0, 0, 0);
      four(v_tile + at) = inside ? four(v + from) : make_float4(0, 0, 0, 0);
    });
    __syncthreads();
    for (int j0 = 0; j0 < fp32_keys; j0 += at_once) {
      float score[at_once], highest = most;
#pragma unroll
      for (int j = 0; j < at_once; ++j) {
        float product = 0.0f;
#pragma unroll
        for (int i = 0; i < own; i += 4) {
          const float4 x = four(tile + (j0 + j) * pitch + part + i);
          product += mine[i] * x.x + mine[i + 1] * x.y + mine[i + 2] * x.z + mine[i + 3] * x.w;
        }
        if constexpr (shares == 2) product += __shfl_xor_sync(~0u, product, 1);
        const int key = k0 + j0 + j;
        score[j] = key < tokens && !(causal && key > query) ? product : -INFINITY;
        highest = fmaxf(highest, score[j]);
      }
      if (highest == -INFINITY) continue;  // a query after the last may see no key
      const float kept = power_of_2(most - highest);
      most = highest;
      //! [online]
      total *= kept;
#pragma unroll
      for (int i = 0; i < own; ++i) sum[i] *= kept;
#pragma unroll
      for (int j = 0; j < at_once; ++j) {
        const float weight = power_of_2(score[j] - most);
        total += weight;
#pragma unroll
        for (int i = 0; i < own; i += 4) {
          const float4 x = four(v_tile + (j0 + j) * pitch + part + i);
          sum[i] += weight * x.x, sum[i + 1] += weight * x.y, sum[i + 2] += weight * x.z, sum[i + 3] += weight * x.w;
        }
      }
      //! [online]
    }
  }
  if (share == 0 && query < tokens) lse[head + query] = ln_2 * (most + log2f(total));
  __syncthreads();
#pragma unroll
  for (int i = 0; i < own; i += 4)
    four(tile + row * pitch + part + i) =
        make_float4(sum[i] / total, sum[i + 1] / total, sum[i + 2] / total, sum[i + 3] / total);
  __syncthreads();
  each_4<size>(min(fp32_queries, tokens - first),
               [&](int r, int column, int at) { four(out + (head + first + r) * size + column) = four(tile + at); });
}

template <int size>
void launch_fp32(float* out, float* lse, const float* q, const float* k, const float* v, int heads, int tokens,
                 bool causal, cudaStream_t stream) {
  fp32_kernel<size><<<dim3(ceil_div(tokens, fp32_queries), heads), fp32_queries * size / own, 0, stream>>>(
      out, lse, q, k, v, tokens, causal, factor_of(size));
}

// ---- bf16 on tensor cores -----------------------------------------------------------------------------------------

/// `warps` warps with `parts` times 16 queries each.
template <int size_, int warps_, int parts_>
struct shape {
  static constexpr int size = size_, warps = warps_, parts = parts_, keys = 64, stages = 2;
  static constexpr int threads = 32 * warps, queries = 16 * parts * warps, chunks = size / 8;  // of 16 bytes, in a row
  static constexpr int tile = keys * chunks, shared_bytes = (queries * chunks + 2 * stages * tile) * 16;
};

/// Where a chunk of a row lies: eight rows of one column are in different banks.
template <int chunks>
__device__ int place(int row, int chunk) {
  return row * chunks + (chunk ^ (row % 8));
}

/// __pipeline_memcpy_async(to, from, 16, inside ? 0 : 16), which nvcc turns into more instructions: 2 % slower.
__device__ void copy_16(uint4* to, const bf16* from, bool inside) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(from), "r"(inside ? 16 : 0)
      : "memory");
}

/// Copies rows from `first` on, asynchronously; rows after the last become zeros.
template <class s, int rows>
__device__ void fetch(uint4* tile, const bf16* from, int first, int tokens) {
  constexpr int step = s::threads / s::chunks;
  const int row = threadIdx.x / s::chunks, chunk = threadIdx.x % s::chunks;
#pragma unroll
  for (int r = row; r < row + rows; r += step) {
    const int at = min(first + r, tokens - 1);
    copy_16(tile + place<s::chunks>(r, chunk), from + static_cast<std::size_t>(at) * s::size + chunk * 8,
            first + r < tokens);
  }
}

__device__ unsigned rounded(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return static_cast<unsigned>(__bfloat16_as_ushort(both.y)) << 16 | __bfloat16_as_ushort(both.x);
}

template <class s, bool causal>
__global__ void __launch_bounds__(s::threads, 2)
    bf16_kernel(bf16* __restrict__ out, float* __restrict__ lse, const bf16* __restrict__ q, const bf16* __restrict__ k,
                const bf16* __restrict__ v, int tokens, float factor) {
  extern __shared__ uint4 shared[];
  uint4 *const q_tile = shared, *const tiles = shared + s::queries * s::chunks;
  const std::size_t head = static_cast<std::size_t>(blockIdx.x) * tokens;
  // The blocks with the most work come first, so that none of them is left to the end.
  const int first = static_cast<int>(gridDim.y - 1 - blockIdx.y) * s::queries;
  const int seen = causal ? min(first + s::queries, tokens) : tokens, steps = (seen - 1) / s::keys + 1;
  const int lane = threadIdx.x % 32, row = lane / 4, pair = lane % 4 * 2;
  const int of_warp = static_cast<int>(threadIdx.x) / 32 * 16 * s::parts, own = first + of_warp;
  // Which row of 16, and which of two chunks, a lane names to ldmatrix.
  const int down = lane % 16, right = lane / 16;

  const auto fetch_both = [&](int t) {
    uint4* to = tiles + t % s::stages * 2 * s::tile;
    if (t < steps) {
      fetch<s, s::keys>(to, k + head * s::size, t * s::keys, tokens);
      fetch<s, s::keys>(to + s::tile, v + head * s::size, t * s::keys, tokens);
    }
    __pipeline_commit();
  };
  fetch<s, s::queries>(q_tile, q + head * s::size, first, tokens);
  fetch_both(0);

  float sum[s::parts][s::size / 8][4] = {}, most[s::parts][2], total[s::parts][2] = {};
#pragma unroll
  for (int p = 0; p < s::parts; ++p) most[p][0] = most[p][1] = -INFINITY;

  for (int t = 0; t < steps; ++t) {
    __pipeline_wait_prior(0);
    __syncthreads();  // this tile has arrived, and all threads are done with the previous one
    fetch_both(t + 1);
    const uint4 *k_tile = tiles + t % s::stages * 2 * s::tile, *v_tile = k_tile + s::tile;
    if (causal && t * s::keys >= own + 16 * s::parts) continue;  // all past the diagonal

    float score[s::parts][s::keys / 8][4] = {};
#pragma unroll
    for (int c = 0; c < s::chunks; c += 2) {
      unsigned of_q[s::parts][4];
#pragma unroll
      for (int p = 0; p < s::parts; ++p)
        lab::ldmatrix(of_q[p], q_tile + place<s::chunks>(of_warp + 16 * p + down, c + right));
#pragma unroll
      for (int n = 0; n < s::keys / 16; ++n) {
        unsigned of_k[4];  // keys 16 n to 16 n + 7: the first two, as a column of the right factor
        lab::ldmatrix(of_k, k_tile + place<s::chunks>(16 * n + lane % 8 + right * 8, c + lane / 8 % 2));
#pragma unroll
        for (int p = 0; p < s::parts; ++p) {
          lab::mma(score[p][2 * n], of_q[p], {of_k[0], of_k[1]});
          lab::mma(score[p][2 * n + 1], of_q[p], {of_k[2], of_k[3]});
        }
      }
    }
    if ((t + 1) * s::keys > (causal ? own : tokens - 1)) {
#pragma unroll
      for (int p = 0; p < s::parts; ++p)
#pragma unroll
        for (int n = 0; n < s::keys / 8; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int key = t * s::keys + 8 * n + pair + i % 2, query = own + 16 * p + row + i / 2 * 8;
            if (key >= tokens || (causal && key > query)) score[p][n][i] = -INFINITY;
          }
    }

    // Rows `row` and `row + 8`, each in four lanes. A maximum that has grown by no more than 2^8 may stay: weights are
    // relative to any number that does not let them overflow, and so nothing needs to be scaled.
#pragma unroll
    for (int p = 0; p < s::parts; ++p)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float highest = most[p][r];
#pragma unroll
        for (int n = 0; n < s::keys / 8; ++n)
          highest = fmaxf(highest, fmaxf(score[p][n][2 * r], score[p][n][2 * r + 1]));
        highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 1));
        highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 2));
        if (!__all_sync(~0u, (highest - most[p][r]) * factor <= 8.0f)) {
          const float kept = power_of_2((most[p][r] - highest) * factor);
          most[p][r] = highest;
          total[p][r] *= kept;
#pragma unroll
          for (int n = 0; n < s::size / 8; ++n) sum[p][n][2 * r] *= kept, sum[p][n][2 * r + 1] *= kept;
        }
        const float shift = most[p][r] * factor;
        float of_tile = 0.0f;
#pragma unroll
        for (int n = 0; n < s::keys / 8; ++n)
#pragma unroll
          for (int i = 2 * r; i < 2 * r + 2; ++i)
            of_tile += score[p][n][i] = power_of_2(score[p][n][i] * factor - shift);
        total[p][r] += of_tile;
      }

      // Two neighbouring tiles of 8 keys are, as they lie in registers, what a lane must hold of a left factor.
#pragma unroll
    for (int n = 0; n < s::keys / 16; ++n) {
      //! [weights]
      unsigned weights[s::parts][4];
#pragma unroll
      for (int p = 0; p < s::parts; ++p)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          weights[p][i] = rounded(score[p][2 * n + i / 2][i % 2 * 2], score[p][2 * n + i / 2][i % 2 * 2 + 1]);
          //! [weights]
#pragma unroll
      for (int c = 0; c < s::chunks; c += 2) {
        unsigned of_v[4];
        lab::ldmatrix_trans(of_v, v_tile + place<s::chunks>(16 * n + down, c + right));
#pragma unroll
        for (int p = 0; p < s::parts; ++p) {
          lab::mma(sum[p][c], weights[p], {of_v[0], of_v[1]});
          lab::mma(sum[p][c + 1], weights[p], {of_v[2], of_v[3]});
        }
      }
    }
  }

  __syncwarp();  // all lanes are done with the warp's own rows of Q: whole rows of the result go to memory from there
#pragma unroll
  for (int p = 0; p < s::parts; ++p)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float all = total[p][r] + __shfl_xor_sync(~0u, total[p][r], 1);
      all += __shfl_xor_sync(~0u, all, 2);
      const int query = own + 16 * p + 8 * r + row;
      if (query >= tokens) continue;
      if (pair == 0) lse[head + query] = ln_2 * (most[p][r] * factor + log2f(all));
      const float share = 1.0f / all;
#pragma unroll
      for (int n = 0; n < s::chunks; ++n)
        reinterpret_cast<unsigned*>(q_tile + place<s::chunks>(of_warp + 16 * p + 8 * r + row, n))[lane % 4] =
            rounded(sum[p][n][2 * r] * share, sum[p][n][2 * r + 1] * share);
    }
  __syncwarp();
#pragma unroll
  for (int at = lane; at < 16 * s::parts * s::chunks; at += 32) {
    const int r = at / s::chunks, c = at % s::chunks;
    if (own + r < tokens)
      reinterpret_cast<uint4*>(out + (head + own + r) * s::size)[c] = q_tile[place<s::chunks>(of_warp + r, c)];
  }
}

template <class s>
void launch_bf16(bf16* out, float* lse, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens, bool causal,
                 cudaStream_t stream) {
  const auto kernel = causal ? bf16_kernel<s, true> : bf16_kernel<s, false>;
  LAB_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, s::shared_bytes));
  kernel<<<dim3(heads, ceil_div(tokens, s::queries)), s::threads, s::shared_bytes, stream>>>(out, lse, q, k, v, tokens,
                                                                                             factor_of(s::size));
}

/// Two parts read each factor of K and V for twice as many products; if there are few queries, more blocks matter more.
template <int size>
void choose_bf16(bf16* out, float* lse, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens, bool causal,
                 cudaStream_t stream) {
  if (static_cast<std::int64_t>(heads) * tokens >= 16'384)
    launch_bf16<shape<size, 4, 2>>(out, lse, q, k, v, heads, tokens, causal, stream);
  else
    launch_bf16<shape<size, 4, 1>>(out, lse, q, k, v, heads, tokens, causal, stream);
}

// ---- one query at a time ------------------------------------------------------------------------------------------

constexpr int decode_warps = 8, decode_threads = 32 * decode_warps;

/// What a group of lanes, a warp or a block has seen: the largest exponent, the sum of weights, a lane's 8 sums of
/// values.
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

__device__ void widen(float (&to)[8], uint4 from) {
  const unsigned words[] = {from.x, from.y, from.z, from.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) to[i] = __uint_as_float(i % 2 ? words[i / 2] & 0xFFFF0000u : words[i / 2] << 16);
}

/// `size / 8` lanes read a key together, 16 bytes each. A warp reads several keys, several times before computing.
template <int size>
__global__ void __launch_bounds__(decode_threads)
    decode_kernel(bf16* __restrict__ out, float* __restrict__ workspace, const bf16* __restrict__ q,
                  const bf16* __restrict__ k, const bf16* __restrict__ v, int tokens, float factor) {
  constexpr int lanes = size / 8, groups = decode_threads / lanes, at_once = 4, most_at = size + size / 32;
  __shared__ float all[decode_warps][size + size / 32 + 2];  // a gap after 32 columns, for the banks
  const std::size_t head = blockIdx.x;
  const int parts = gridDim.y, group = threadIdx.x / lanes, column = threadIdx.x % lanes * 8;
  const int share = (tokens - 1) / parts + 1, begin = blockIdx.y * share, end = min(begin + share, tokens);
  k += head * tokens * size + column;
  v += head * tokens * size + column;

  float mine[8];
  widen(mine, *reinterpret_cast<const uint4*>(q + head * size + column));
#pragma unroll
  for (float& one : mine) one *= factor;
  partial seen;
  for (int first = begin; first < end; first += groups * at_once) {
    uint4 keys[at_once], values[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int key = first + i * groups + group;
      const uint4 none = make_uint4(0, 0, 0, 0);
      keys[i] = key < end ? __ldcs(reinterpret_cast<const uint4*>(k + static_cast<std::size_t>(key) * size)) : none;
      values[i] = key < end ? __ldcs(reinterpret_cast<const uint4*>(v + static_cast<std::size_t>(key) * size)) : none;
    }
    float score[at_once], highest = seen.most;
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      float x[8], product = 0.0f;
      widen(x, keys[i]);
#pragma unroll
      for (int j = 0; j < 8; ++j) product += mine[j] * x[j];
#pragma unroll
      for (int step = lanes / 2; step > 0; step /= 2) product += __shfl_xor_sync(~0u, product, step);
      score[i] = first + i * groups + group < end ? product : -INFINITY;
      highest = fmaxf(highest, score[i]);
    }
    if (highest == -INFINITY) continue;
    const float kept = power_of_2(seen.most - highest);
    seen.most = highest;
    seen.total *= kept;
#pragma unroll
    for (float& one : seen.sum) one *= kept;
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const float weight = power_of_2(score[i] - highest);
      float x[8];
      widen(x, values[i]);
      seen.total += weight;
#pragma unroll
      for (int j = 0; j < 8; ++j) seen.sum[j] += weight * x[j];
    }
  }
  // Join the results of a warp's groups, then those of the block's warps.
#pragma unroll
  for (int step = lanes; step < 32; step *= 2) {
    float other[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) other[j] = __shfl_xor_sync(~0u, seen.sum[j], step);
    const float other_most = __shfl_xor_sync(~0u, seen.most, step);
    seen.join(other_most, __shfl_xor_sync(~0u, seen.total, step), other);
  }
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 < lanes) {
#pragma unroll
    for (int j = 0; j < 8; ++j) all[warp][column + column / 32 + j] = seen.sum[j];
    if (column == 0) all[warp][most_at] = seen.most, all[warp][most_at + 1] = seen.total;
  }
  __syncthreads();
  if (threadIdx.x >= size) return;
  float highest = -INFINITY, total = 0.0f, sum = 0.0f;
#pragma unroll
  for (int w = 0; w < decode_warps; ++w) highest = fmaxf(highest, all[w][most_at]);
#pragma unroll
  for (int w = 0; w < decode_warps; ++w) {
    const float weight = highest == -INFINITY ? 0.0f : power_of_2(all[w][most_at] - highest);
    total += weight * all[w][most_at + 1];
    sum += weight * all[w][threadIdx.x + threadIdx.x / 32];
  }
  if (parts == 1) {
    out[head * size + threadIdx.x] = __float2bfloat16(sum / total);
    return;
  }
  float* to = workspace + (head * parts + blockIdx.y) * (size + 2);
  to[threadIdx.x] = sum;
  if (threadIdx.x < 2) to[size + threadIdx.x] = threadIdx.x == 0 ? highest : total;
}

/// A thread per column goes over the parts.
template <int size>
__global__ void join_kernel(bf16* __restrict__ out, const float* __restrict__ workspace, int parts) {
  const float* from = workspace + static_cast<std::size_t>(blockIdx.x) * parts * (size + 2);
  float highest = -INFINITY, total = 0.0f, sum = 0.0f;
  for (int p = 0; p < parts; ++p) highest = fmaxf(highest, from[p * (size + 2) + size]);
  for (int p = 0; p < parts; ++p) {
    const float weight = power_of_2(from[p * (size + 2) + size] - highest);
    total += weight * from[p * (size + 2) + size + 1];
    sum += weight * from[p * (size + 2) + threadIdx.x];
  }
  out[static_cast<std::size_t>(blockIdx.x) * size + threadIdx.x] = __float2bfloat16(sum / total);
}

template <int size>
void launch_decode(bf16* out, float* workspace, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens,
                   cudaStream_t stream) {
  int multiprocessors = 0;
  LAB_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  // Eight blocks for each multiprocessor, with 256 keys or more each.
  const int wanted = ceil_div(8 * multiprocessors, heads), possible = ceil_div(tokens, 256);
  const int parts = std::min({wanted, possible, most_parts});
  decode_kernel<size>
      <<<dim3(heads, parts), decode_threads, 0, stream>>>(out, workspace, q, k, v, tokens, factor_of(size));
  if (parts > 1) join_kernel<size><<<heads, size, 0, stream>>>(out, workspace, parts);
}

}  // namespace

void attention_fp32(float* out, float* lse, const float* q, const float* k, const float* v, int heads, int tokens,
                    int size, bool causal, cudaStream_t stream) {
  (size == 64 ? launch_fp32<64> : launch_fp32<128>)(out, lse, q, k, v, heads, tokens, causal, stream);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void attention_bf16(bf16* out, float* lse, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens, int size,
                    bool causal, cudaStream_t stream) {
  (size == 64 ? choose_bf16<64> : choose_bf16<128>)(out, lse, q, k, v, heads, tokens, causal, stream);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void decode_bf16(bf16* out, float* workspace, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens,
                 int size, cudaStream_t stream) {
  (size == 64 ? launch_decode<64> : launch_decode<128>)(out, workspace, q, k, v, heads, tokens, stream);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab11
