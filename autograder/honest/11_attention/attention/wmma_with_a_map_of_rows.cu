// FP32 with a key per lane; bf16 by nvcuda::wmma, whose sums are scaled by a map from elements to rows; decode with
// blocks of 768 threads.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <mma.h>

#include <algorithm>
#include <stdexcept>

#include "attention.hpp"

namespace lab11 {
namespace {

namespace cg = cooperative_groups;
namespace wmma = nvcuda::wmma;

constexpr float none = -INFINITY;

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

void must(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

struct problem {
  void* out;
  float* lse;
  const void *q, *k, *v;
  int tokens;
  bool causal;
};

struct fp32 {
  static constexpr int queries = 64, keys = 32, warps = 8, each = queries / warps, threads = 32 * warps;

  template <int Size>
  struct room {
    float q[queries][Size], k[keys][Size + 4], v[keys][Size], p[warps][keys][each + 4];
  };

  template <int Size, int Pitch>
  static __device__ void fetch(float (*to)[Pitch], const float* from, int rows, int valid) {
    for (int i = threadIdx.x; i < rows * Size / 4; i += threads) {
      const int row = i / (Size / 4), c = i % (Size / 4) * 4;
      *reinterpret_cast<float4*>(&to[row][c]) = row < valid
                                                    ? *reinterpret_cast<const float4*>(from + row * Size + c)
                                                    : float4{0, 0, 0, 0};
    }
  }

  template <int Size>
  static __device__ void run(const problem& a) {
    extern __shared__ float4 memory[];
    auto& s = *reinterpret_cast<room<Size>*>(memory);
    constexpr int columns = Size / 32;
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int w = warp.meta_group_rank(), lane = warp.thread_rank(), first = blockIdx.x * queries;
    const std::size_t base = static_cast<std::size_t>(blockIdx.y) * a.tokens;
    const float *const k = static_cast<const float*>(a.k) + base * Size, *const v = static_cast<const float*>(a.v) + base * Size;
    fetch<Size>(s.q, static_cast<const float*>(a.q) + (base + first) * Size, queries, a.tokens - first);
    float o[each][columns] = {}, m[each], l[each] = {};
    for (float& one : m) one = none;
    const float scale = rsqrtf(static_cast<float>(Size));
    const int end = a.causal ? min(a.tokens, first + queries) : a.tokens;
    for (int tile = 0; tile < end; tile += keys) {
      __syncthreads();
      fetch<Size>(s.k, k + static_cast<std::size_t>(tile) * Size, keys, a.tokens - tile);
      fetch<Size>(s.v, v + static_cast<std::size_t>(tile) * Size, keys, a.tokens - tile);
      __syncthreads();
      float score[each] = {};
#pragma unroll 4
      for (int c = 0; c < Size; c += 4) {
        const float4 b = *reinterpret_cast<const float4*>(&s.k[lane][c]);
#pragma unroll
        for (int i = 0; i < each; ++i) {
          const float4 x = *reinterpret_cast<const float4*>(&s.q[w * each + i][c]);
          score[i] += x.x * b.x + x.y * b.y + x.z * b.z + x.w * b.w;
        }
      }
      const int key = tile + lane;
#pragma unroll
      for (int i = 0; i < each; ++i) {
        const int query = first + w * each + i;
        const float mine = key < a.tokens && (!a.causal || key <= query) ? score[i] * scale : none;
        const float most = fmaxf(m[i], cg::reduce(warp, mine, cg::greater<float>()));
        const float old = most == none ? 0 : expf(m[i] - most);
        score[i] = mine == none ? 0 : expf(mine - most);
        m[i] = most;
        l[i] = l[i] * old + score[i];
#pragma unroll
        for (int c = 0; c < columns; ++c) o[i][c] *= old;
      }
#pragma unroll
      for (int i = 0; i < each; i += 4)
        *reinterpret_cast<float4*>(&s.p[w][lane][i]) = {score[i], score[i + 1], score[i + 2], score[i + 3]};
      warp.sync();
#pragma unroll 4
      for (int j = 0; j < keys; ++j) {
        float p[each], value[columns];
#pragma unroll
        for (int i = 0; i < each; i += 4) {
          const float4 four = *reinterpret_cast<const float4*>(&s.p[w][j][i]);
          p[i] = four.x, p[i + 1] = four.y, p[i + 2] = four.z, p[i + 3] = four.w;
        }
#pragma unroll
        for (int c = 0; c < columns; ++c) value[c] = s.v[j][c * 32 + lane];
#pragma unroll
        for (int i = 0; i < each; ++i)
#pragma unroll
          for (int c = 0; c < columns; ++c) o[i][c] += p[i] * value[c];
      }
    }
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int query = first + w * each + i;
      const float sum = cg::reduce(warp, l[i], cg::plus<float>());
      if (query >= a.tokens) continue;
#pragma unroll
      for (int c = 0; c < columns; ++c)
        static_cast<float*>(a.out)[(base + query) * Size + c * 32 + lane] = o[i][c] / sum;
      if (lane == i) s.p[w][0][i] = m[i] + logf(sum);
    }
    warp.sync();
    if (lane < each && first + w * each + lane < a.tokens) a.lse[base + first + w * each + lane] = s.p[w][0][lane];
  }
};

struct tensor {
  static constexpr int queries = 64, keys = 64, warps = 4, threads = 32 * warps, rows = 16, pad = 8;
  using left = wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, wmma::row_major>;
  using right = wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::row_major>;
  using right_turned = wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::col_major>;
  using sums = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

  template <int Size>
  struct room {
    union {
      struct {
        bf16 k[keys][Size + pad], v[keys][Size + pad];
      };
      float out[warps][rows][Size + pad];
    };
    float s[warps][rows][keys + pad];
    bf16 p[warps][rows][keys + pad];
    float factor[warps][rows];
  };

  template <int Size, int Pitch>
  static __device__ void fetch(bf16 (*to)[Pitch], const bf16* from, int valid) {
    for (int i = threadIdx.x; i < keys * Size / 8; i += threads) {
      const int row = i / (Size / 8), c = i % (Size / 8) * 8;
      *reinterpret_cast<uint4*>(&to[row][c]) =
          row < valid ? *reinterpret_cast<const uint4*>(from + row * Size + c) : uint4{0, 0, 0, 0};
    }
  }

  template <int Size>
  static __device__ void run(const problem& a) {
    extern __shared__ float4 memory[];
    auto& s = *reinterpret_cast<room<Size>*>(memory);
    const int w = threadIdx.x / 32, lane = threadIdx.x % 32, row = lane / 2, side = lane % 2;
    const int first = blockIdx.x * queries, query = first + w * rows + row;
    const std::size_t base = static_cast<std::size_t>(blockIdx.y) * a.tokens;
    const bf16 *const k = static_cast<const bf16*>(a.k) + base * Size, *const v = static_cast<const bf16*>(a.v) + base * Size;

    for (int i = lane; i < rows * 16; i += 32) s.s[w][i / 16][i % 16] = static_cast<float>(i / 16);
    fetch<Size>(s.k, static_cast<const bf16*>(a.q) + (base + first) * Size, a.tokens - first);
    __syncthreads();
    sums row_of;
    wmma::load_matrix_sync(row_of, &s.s[w][0][0], keys + pad, wmma::mem_row_major);
    left q[Size / 16];
    for (int c = 0; c < Size / 16; ++c) wmma::load_matrix_sync(q[c], &s.k[w * rows][c * 16], Size + pad);
    sums o[Size / 16];
    for (sums& one : o) wmma::fill_fragment(one, 0.0f);
    const auto scale_rows = [&] {
      for (sums& one : o)
        for (int i = 0; i < sums::num_elements; ++i) one.x[i] *= s.factor[w][static_cast<int>(row_of.x[i])];
    };

    float m = none, l = 0;
    const float scale = rsqrtf(static_cast<float>(Size));
    const int end = a.causal ? min(a.tokens, first + queries) : a.tokens;
    for (int tile = 0; tile < end; tile += keys) {
      __syncthreads();
      fetch<Size>(s.k, k + static_cast<std::size_t>(tile) * Size, a.tokens - tile);
      fetch<Size>(s.v, v + static_cast<std::size_t>(tile) * Size, a.tokens - tile);
      __syncthreads();
      for (int j = 0; j < keys; j += 16) {
        sums score;
        wmma::fill_fragment(score, 0.0f);
        for (int c = 0; c < Size / 16; ++c) {
          right_turned b;
          wmma::load_matrix_sync(b, &s.k[j][c * 16], Size + pad);
          wmma::mma_sync(score, q[c], b, score);
        }
        wmma::store_matrix_sync(&s.s[w][0][j], score, keys + pad, wmma::mem_row_major);
      }
      __syncwarp();
      float4 mine[keys / 8];
      float most = m;
      for (int j = 0; j < keys / 8; ++j) {
        mine[j] = *reinterpret_cast<const float4*>(&s.s[w][row][8 * j + 4 * side]);
        float* const x = &mine[j].x;
        for (int i = 0; i < 4; ++i) {
          const int key = tile + 8 * j + 4 * side + i;
          x[i] = key < a.tokens && (!a.causal || key <= query) ? x[i] * scale : none;
          most = fmaxf(most, x[i]);
        }
      }
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
      const float old = m == none ? 0 : __expf(m - most);
      l *= old;
      m = most;
      for (int j = 0; j < keys / 8; ++j) {
        float* const x = &mine[j].x;
        for (int i = 0; i < 4; ++i) {
          x[i] = x[i] == none ? 0 : __expf(x[i] - most);
          l += x[i];
        }
        union {
          uint2 bits;
          __nv_bfloat162 pair[2];
        } four;
        four.pair[0] = __floats2bfloat162_rn(x[0], x[1]), four.pair[1] = __floats2bfloat162_rn(x[2], x[3]);
        *reinterpret_cast<uint2*>(&s.p[w][row][8 * j + 4 * side]) = four.bits;
      }
      if (side == 0) s.factor[w][row] = old;
      __syncwarp();
      scale_rows();
      for (int j = 0; j < keys; j += 16) {
        left p;
        wmma::load_matrix_sync(p, &s.p[w][0][j], keys + pad);
        for (int c = 0; c < Size / 16; ++c) {
          right b;
          wmma::load_matrix_sync(b, &s.v[j][c * 16], Size + pad);
          wmma::mma_sync(o[c], p, b, o[c]);
        }
      }
    }
    l += __shfl_xor_sync(~0u, l, 1);
    __syncwarp();
    if (side == 0) s.factor[w][row] = 1 / l;
    if (side == 0 && query < a.tokens) a.lse[base + query] = m + __logf(l);
    __syncthreads();  // out takes the place of k and v
    scale_rows();
    for (int c = 0; c < Size / 16; ++c) wmma::store_matrix_sync(&s.out[w][0][c * 16], o[c], Size + pad, wmma::mem_row_major);
    __syncwarp();
    for (int i = lane; i < rows * Size / 4; i += 32) {
      const int r = i / (Size / 4), c = i % (Size / 4) * 4;
      if (first + w * rows + r >= a.tokens) break;
      const float4 x = *reinterpret_cast<const float4*>(&s.out[w][r][c]);
      union {
        uint2 bits;
        __nv_bfloat162 pair[2];
      } four;
      four.pair[0] = __floats2bfloat162_rn(x.x, x.y), four.pair[1] = __floats2bfloat162_rn(x.z, x.w);
      *reinterpret_cast<uint2*>(static_cast<bf16*>(a.out) + (base + first + w * rows + r) * Size + c) = four.bits;
    }
  }
};

template <class How, int Size>
__global__ void __launch_bounds__(How::threads) kernel(const problem a) {
  How::template run<Size>(a);
}

template <class How, int Size>
void start(const problem& a, int heads, cudaStream_t stream) {
  constexpr int bytes = sizeof(typename How::template room<Size>);
  must(cudaFuncSetAttribute(kernel<How, Size>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<How, Size><<<dim3(ceil_div(a.tokens, How::queries), heads), How::threads, bytes, stream>>>(a);
  must(cudaGetLastError());
}

template <class How>
void start(const problem& a, int heads, int size, cudaStream_t stream) {
  size == 64 ? start<How, 64>(a, heads, stream) : start<How, 128>(a, heads, stream);
}

struct partial {
  float most = none, sum = 0;
};

constexpr int wide = 768;

/// Two keys at a time per team of Size / 8 lanes.
template <int Size>
__global__ void __launch_bounds__(wide) look(float* o, partial* ml, const bf16* q, const bf16* k, const bf16* v, int tokens, int share) {
  constexpr int lanes = Size / 8, teams = wide / lanes;
  __shared__ float outs[teams][Size + 4];
  __shared__ partial parts[teams];
  const auto block = cg::this_thread_block();
  const auto team = cg::tiled_partition<lanes>(block);
  const int me = team.thread_rank(), t = team.meta_group_rank(), head = blockIdx.y, part = blockIdx.x;
  const auto spread = [](float(&to)[8], const bf16* from) {
    const uint4 all = *reinterpret_cast<const uint4*>(from);
    const unsigned words[] = {all.x, all.y, all.z, all.w};
    for (int i = 0; i < 4; ++i) to[2 * i] = __uint_as_float(words[i] << 16), to[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000u);
  };
  float mine[8], result[8] = {};
  spread(mine, q + head * Size + me * 8);
  partial now;
  const int end = min(tokens, (part + 1) * share);
  for (int key = part * share + t; key < end; key += teams) {
    const std::size_t at = (static_cast<std::size_t>(head) * tokens + key) * Size + me * 8;
    float a[8], b[8], score = 0;
    spread(a, k + at);
    spread(b, v + at);
    for (int i = 0; i < 8; ++i) score += mine[i] * a[i];
    score = cg::reduce(team, score, cg::plus<float>()) * rsqrtf(static_cast<float>(Size));
    const float most = fmaxf(now.most, score), old = __expf(now.most - most), weight = __expf(score - most);
    now = {most, now.sum * old + weight};
    for (int i = 0; i < 8; ++i) result[i] = result[i] * old + weight * b[i];
  }
  for (int i = 0; i < 8; i += 4)
    *reinterpret_cast<float4*>(&outs[t][me * 8 + i]) = {result[i], result[i + 1], result[i + 2], result[i + 3]};
  if (me == 0) parts[t] = now;
  block.sync();
  if (threadIdx.x >= Size) return;
  partial all;
  for (const partial& p : parts) all.most = fmaxf(all.most, p.most);
  float column = 0;
  for (int i = 0; i < teams; ++i) {
    const float factor = parts[i].most == none ? 0 : __expf(parts[i].most - all.most);
    all.sum += factor * parts[i].sum;
    column += factor * outs[i][threadIdx.x];
  }
  o[(head * gridDim.x + part) * Size + threadIdx.x] = column;
  if (threadIdx.x == 0) ml[head * gridDim.x + part] = all;
}

__global__ void join(bf16* out, const float* o, const partial* ml, int parts) {
  const int head = blockIdx.x, size = blockDim.x;
  float most = none, sum = 0, column = 0;
  for (int i = 0; i < parts; ++i) most = fmaxf(most, ml[head * parts + i].most);
  for (int i = 0; i < parts; ++i) {
    const float factor = __expf(ml[head * parts + i].most - most);
    sum += factor * ml[head * parts + i].sum;
    column += factor * o[(head * parts + i) * size + threadIdx.x];
  }
  out[head * size + threadIdx.x] = __float2bfloat16(column / sum);
}

}  // namespace

void attention_fp32(float* out, float* lse, const float* q, const float* k, const float* v, int heads, int tokens,
                    int size, bool causal, cudaStream_t stream) {
  start<fp32>({out, lse, q, k, v, tokens, causal}, heads, size, stream);
}

void attention_bf16(bf16* out, float* lse, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens, int size,
                    bool causal, cudaStream_t stream) {
  start<tensor>({out, lse, q, k, v, tokens, causal}, heads, size, stream);
}

void decode_bf16(bf16* out, float* workspace, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens,
                 int size, cudaStream_t stream) {
  const int share = std::max(192, ceil_div(tokens, most_parts)), parts = ceil_div(tokens, share);
  const auto ml = reinterpret_cast<partial*>(workspace + static_cast<std::size_t>(heads) * parts * size);
  (size == 64 ? look<64> : look<128>)<<<dim3(parts, heads), wide, 0, stream>>>(workspace, ml, q, k, v, tokens, share);
  join<<<heads, size, 0, stream>>>(out, workspace, ml, parts);
  must(cudaGetLastError());
}

}  // namespace lab11
