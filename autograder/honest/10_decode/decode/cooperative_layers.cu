// A layer is one cooperative launch whose blocks stay: they go over rows, pairs and parts of keys with the grid's
// stride, and wait for each other between the steps. The functions of the contract launch single steps.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <algorithm>
#include <cub/cub.cuh>
#include <stdexcept>
#include <string>

#include "decode.hpp"

namespace lab10 {
namespace {

namespace cg = cooperative_groups;

constexpr int threads = 192, warps = threads / 32, tile_rows = 16, keys_per_part = 64, widest = 128, most_group = 8;

void must(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(std::string("decode: ") + cudaGetErrorString(status));
}

union eight {
  uint4 all;
  __nv_bfloat162 pair[4];
  __device__ explicit eight(const bf16* from) : all(*reinterpret_cast<const uint4*>(from)) {}
  __device__ void to_floats(float (&f)[8]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 two = __bfloat1622float2(pair[i]);
      f[2 * i] = two.x, f[2 * i + 1] = two.y;
    }
  }
};

union room {
  float sums[tile_rows + 1][warps];
  struct {
    float o[warps][most_group][widest], m[warps][most_group], l[warps][most_group];
  } parts;
  float q[most_group * widest];
};

__device__ void load_floats(float (&f)[8], const float* from) {
  const float4 a = reinterpret_cast<const float4*>(from)[0], b = reinterpret_cast<const float4*>(from)[1];
  f[0] = a.x, f[1] = a.y, f[2] = a.z, f[3] = a.w, f[4] = b.x, f[5] = b.y, f[6] = b.z, f[7] = b.w;
}

/// Calls store(i, product i, product i + 1) for each of `count` rows; row(i) is where row i begins.
template <bool Normed, class Row, class Store>
__device__ void products(room& shared, const float* x, const bf16* norm, int count, int columns, Row row, Store store) {
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const int me = static_cast<int>(block.thread_rank());
  for (int first = static_cast<int>(blockIdx.x) * tile_rows; first < count;
       first += static_cast<int>(gridDim.x) * tile_rows) {
    float sum[tile_rows + 1] = {};
    for (int c = me * 8; c < columns; c += threads * 8) {
      float f[8];
      load_floats(f, x + c);
      if constexpr (Normed) {
        float g[8];
        eight(norm + c).to_floats(g);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          sum[tile_rows] += f[i] * f[i];
          f[i] *= g[i];
        }
      }
#pragma unroll
      for (int r = 0; r < tile_rows; ++r) {
        if (first + r >= count) break;
        float w[8];
        eight(row(first + r) + c).to_floats(w);
#pragma unroll
        for (int i = 0; i < 8; ++i) sum[r] += w[i] * f[i];
      }
    }
#pragma unroll
    for (int r = 0; r < tile_rows + Normed; ++r) {
      const float all = cg::reduce(warp, sum[r], cg::plus<float>());
      if (warp.thread_rank() == 0) shared.sums[r][warp.meta_group_rank()] = all;
    }
    block.sync();
    if (me < 32) {
      float total = 0, squares = 0;
      if (me < tile_rows)
        for (int w = 0; w < warps; ++w) {
          total += shared.sums[me][w];
          if constexpr (Normed) squares += shared.sums[tile_rows][w];
        }
      if constexpr (Normed) total *= rsqrtf(squares / static_cast<float>(columns) + 1e-5f);
      const float next = warp.shfl_down(total, 1);
      if (me < tile_rows && first + me < count) store(first + me, total, next);
    }
    block.sync();
  }
}

struct product_args {
  float* y;
  const bf16* w;
  const float* x;
  const bf16* norm;
  const float* residual;
  int rows, columns;
};

template <bool Normed>
__device__ void plain(room& shared, const product_args& a) {
  products<Normed>(
      shared, a.x, a.norm, a.rows, a.columns,
      [&](int i) { return a.w + static_cast<std::size_t>(i) * static_cast<std::size_t>(a.columns); },
      [&](int i, float total, float) { a.y[i] = a.residual ? a.residual[i] + total : total; });
}

__device__ void gated(room& shared, const product_args& a) {
  products<true>(
      shared, a.x, a.norm, 2 * a.rows, a.columns,
      [&](int i) {
        return a.w + static_cast<std::size_t>(i % 2 * a.rows + i / 2) * static_cast<std::size_t>(a.columns);
      },
      [&](int i, float gate, float up) {
        if (i % 2 == 0) a.y[i / 2] = gate / (1 + __expf(-gate)) * up;
      });
}

struct cache_args {
  float *q, *out, *workspace;
  bf16 *k, *v;
  const float *qkv, *rotary;
  const int* position;
  int heads, kv_heads, size, capacity;
};

__device__ void turn(const cache_args& a) {
  const int half = a.size / 2, all = (a.heads + 2 * a.kv_heads) * half, at = *a.position;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < all;
       i += static_cast<int>(gridDim.x * blockDim.x)) {
    const int head = i / half, pair = i % half;
    float2 n = reinterpret_cast<const float2*>(a.qkv)[i];
    if (head < a.heads + a.kv_heads) {
      const float2 cs = reinterpret_cast<const float2*>(a.rotary)[at * half + pair];
      n = {n.x * cs.x - n.y * cs.y, n.y * cs.x + n.x * cs.y};
    }
    if (head < a.heads) {
      reinterpret_cast<float2*>(a.q)[i] = n;
      continue;
    }
    const bool key = head < a.heads + a.kv_heads;
    const int of = head - a.heads - (key ? 0 : a.kv_heads);
    reinterpret_cast<__nv_bfloat162*>(key ? a.k : a.v)[(of * a.capacity + at) * half + pair] = __float22bfloat162_rn(n);
  }
}

__device__ int used_parts(int keys) { return min(most_parts, (keys + keys_per_part - 1) / keys_per_part); }

__device__ float* sums_of(const cache_args& a, int head, int part) {
  return a.workspace + (head * most_parts + part) * a.size;
}
__device__ float2* scale_of(const cache_args& a, int head, int part) {
  return reinterpret_cast<float2*>(a.workspace + a.heads * most_parts * a.size) + head * most_parts + part;
}

template <int Size, int Group>
__device__ void look(room& shared, const cache_args& a) {
  constexpr int lanes = Size / 8;
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto team = cg::tiled_partition<lanes>(warp);
  const int me = static_cast<int>(team.thread_rank()), teams = threads / lanes,
            mine = static_cast<int>(block.thread_rank()) / lanes, w = static_cast<int>(warp.meta_group_rank());
  const int keys = *a.position + 1, parts = used_parts(keys), share = (keys + parts - 1) / parts;
  const float scale = rsqrtf(static_cast<float>(Size));
  for (int task = static_cast<int>(blockIdx.x); task < parts * a.kv_heads; task += static_cast<int>(gridDim.x)) {
    const int kv = task / parts, part = task % parts;
    float q[Group][8], o[Group][8] = {}, m[Group], l[Group] = {};
    for (int i = static_cast<int>(block.thread_rank()); i < Group * Size; i += threads)
      shared.q[i] = a.q[kv * Group * Size + i];
    block.sync();
#pragma unroll
    for (int g = 0; g < Group; ++g) {
      load_floats(q[g], shared.q + g * Size + me * 8);
      m[g] = -INFINITY;
    }
    block.sync();
    for (int key = part * share + mine; key < min(keys, (part + 1) * share); key += teams) {
      const std::size_t at = (static_cast<std::size_t>(kv) * a.capacity + key) * Size + me * 8;
      float k[8], v[8];
      eight(a.k + at).to_floats(k);
      eight(a.v + at).to_floats(v);
#pragma unroll
      for (int g = 0; g < Group; ++g) {
        float score = 0;
#pragma unroll
        for (int i = 0; i < 8; ++i) score += q[g][i] * k[i];
        score = cg::reduce(team, score, cg::plus<float>()) * scale;
        const float most = fmaxf(m[g], score), old = __expf(m[g] - most), now = __expf(score - most);
        m[g] = most;
        l[g] = l[g] * old + now;
#pragma unroll
        for (int i = 0; i < 8; ++i) o[g][i] = o[g][i] * old + now * v[i];
      }
    }
    warp.sync();
#pragma unroll
    for (int g = 0; g < Group; ++g) {
      float most = m[g];
#pragma unroll
      for (int step = 16; step >= lanes; step /= 2) most = fmaxf(most, warp.shfl_xor(most, step));
      const float factor = m[g] == -INFINITY ? 0 : __expf(m[g] - most);
      l[g] *= factor;
#pragma unroll
      for (int step = 16; step >= lanes; step /= 2) l[g] += warp.shfl_xor(l[g], step);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        o[g][i] *= factor;
#pragma unroll
        for (int step = 16; step >= lanes; step /= 2) o[g][i] += warp.shfl_xor(o[g][i], step);
      }
      if (static_cast<int>(warp.thread_rank()) < lanes) {
        float4* const to = reinterpret_cast<float4*>(&shared.parts.o[w][g][me * 8]);
        to[0] = {o[g][0], o[g][1], o[g][2], o[g][3]};
        to[1] = {o[g][4], o[g][5], o[g][6], o[g][7]};
        if (me == 0) shared.parts.m[w][g] = most, shared.parts.l[w][g] = l[g];
      }
    }
    block.sync();
    for (int i = static_cast<int>(block.thread_rank()); i < Group * Size; i += threads) {
      const int g = i / Size, c = i % Size;
      float most = -INFINITY, sum = 0, result = 0;
      for (int from = 0; from < warps; ++from) most = fmaxf(most, shared.parts.m[from][g]);
      for (int from = 0; from < warps; ++from) {
        const float of = shared.parts.m[from][g], factor = of == -INFINITY ? 0 : __expf(of - most);
        sum += factor * shared.parts.l[from][g];
        result += factor * shared.parts.o[from][g][c];
      }
      sums_of(a, kv * Group + g, part)[c] = result;
      if (c == 0) *scale_of(a, kv * Group + g, part) = {most, sum};
    }
    block.sync();
  }
}

__device__ void look(room& shared, const cache_args& a) {
  const int group = a.heads / a.kv_heads;
  if (a.size == 64) switch (group) {
      case 1: return look<64, 1>(shared, a);
      case 2: return look<64, 2>(shared, a);
      case 4: return look<64, 4>(shared, a);
      default: return look<64, 8>(shared, a);
    }
  switch (group) {
    case 1: return look<128, 1>(shared, a);
    case 2: return look<128, 2>(shared, a);
    case 4: return look<128, 4>(shared, a);
    default: return look<128, 8>(shared, a);
  }
}

__device__ void join(const cache_args& a) {
  const int parts = used_parts(*a.position + 1);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < a.heads * a.size;
       i += static_cast<int>(gridDim.x * blockDim.x)) {
    const int head = i / a.size, c = i % a.size;
    float most = -INFINITY, sum = 0, result = 0;
    for (int part = 0; part < parts; ++part) {
      const float2 of = *scale_of(a, head, part);
      const float all = fmaxf(most, of.x), old = __expf(most - all), now = of.x == -INFINITY ? 0 : __expf(of.x - all);
      most = all;
      sum = sum * old + of.y * now;
      result = result * old + sums_of(a, head, part)[c] * now;
    }
    a.out[i] = result / sum;
  }
}

enum class step { matvec, norm, gate };

template <step Step>
__global__ void __launch_bounds__(threads) product_kernel(product_args a) {
  __shared__ room shared;
  if constexpr (Step == step::gate)
    gated(shared, a);
  else
    plain<Step == step::norm>(shared, a);
}
__global__ void __launch_bounds__(threads) turn_kernel(cache_args a) { turn(a); }
__global__ void __launch_bounds__(threads) look_kernel(cache_args a) {
  __shared__ room shared;
  look(shared, a);
}
__global__ void __launch_bounds__(threads) join_kernel(cache_args a) { join(a); }

struct layer_args {
  const bf16* embedding;  // null but in the first layer
  const int* token;
  product_args qkv, out, gate_up, down;
  cache_args cache;
};

__global__ void __launch_bounds__(threads) layer_kernel(const layer_args a) {
  __shared__ room shared;
  const cg::grid_group grid = cg::this_grid();
  if (a.embedding) {
    float* const x = a.down.y;
    const int width = a.qkv.columns;
    for (int i = static_cast<int>(grid.thread_rank()); i < width / 2; i += static_cast<int>(grid.size()))
      reinterpret_cast<float2*>(x)[i] = __bfloat1622float2(
          reinterpret_cast<const __nv_bfloat162*>(a.embedding + static_cast<std::size_t>(*a.token) * width)[i]);
    grid.sync();
  }
  plain<true>(shared, a.qkv);
  grid.sync();
  turn(a.cache);
  grid.sync();
  look(shared, a.cache);
  grid.sync();
  join(a.cache);
  grid.sync();
  plain<false>(shared, a.out);
  grid.sync();
  gated(shared, a.gate_up);
  grid.sync();
  plain<false>(shared, a.down);
}

int ceil_div(int a, int b) { return (a + b - 1) / b; }

int resident_blocks() {
  static const int blocks = [] {
    int device = 0, processors = 0, each = 0;
    must(cudaGetDevice(&device));
    must(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    must(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, layer_kernel, threads, 0));
    return processors * each;
  }();
  return blocks;
}

template <step Step>
void launch(const product_args& a, cudaStream_t stream) {
  const int rows = Step == step::gate ? 2 * a.rows : a.rows;
  product_kernel<Step><<<std::max(1, ceil_div(rows, tile_rows)), threads, 0, stream>>>(a);
  must(cudaGetLastError());
}

using key_value = cub::KeyValuePair<int, float>;
constexpr int choosing = 768;

__global__ void __launch_bounds__(choosing) choose(int* chosen, int* token, int* position, const float* logits, int n) {
  using reduce = cub::BlockReduce<key_value, choosing>;
  __shared__ typename reduce::TempStorage storage;
  key_value best(0x7fffffff, -INFINITY);
  for (int i = static_cast<int>(threadIdx.x); i < n; i += choosing)
    if (best.key == 0x7fffffff || logits[i] > best.value) best = key_value(i, logits[i]);
  best = reduce(storage).Reduce(best, cub::ArgMax());
  if (threadIdx.x == 0) {
    *token = chosen[*position] = best.key;
    ++*position;
  }
}

}  // namespace

void matvec(float* y, const bf16* w, const float* x, const float* residual, int rows, int columns,
            cudaStream_t stream) {
  launch<step::matvec>({y, w, x, nullptr, residual, rows, columns}, stream);
}

void norm_matvec(float* y, const bf16* w, const float* x, const bf16* norm, int rows, int columns,
                 cudaStream_t stream) {
  launch<step::norm>({y, w, x, norm, nullptr, rows, columns}, stream);
}

void norm_gate(float* y, const bf16* w, const float* x, const bf16* norm, int rows, int columns, cudaStream_t stream) {
  launch<step::gate>({y, w, x, norm, nullptr, rows, columns}, stream);
}

void rotate_append(float* q, bf16* k_cache, bf16* v_cache, const float* qkv, const float* rotary, const int* position,
                   int heads, int kv_heads, int size, int capacity, cudaStream_t stream) {
  turn_kernel<<<ceil_div((heads + 2 * kv_heads) * size / 2, threads), threads, 0, stream>>>(
      {q, nullptr, nullptr, k_cache, v_cache, qkv, rotary, position, heads, kv_heads, size, capacity});
  must(cudaGetLastError());
}

void attend(float* out, float* workspace, const float* q, const bf16* k_cache, const bf16* v_cache, const int* position,
            int heads, int kv_heads, int size, int capacity, cudaStream_t stream) {
  const cache_args a{const_cast<float*>(q),
                     out,
                     workspace,
                     const_cast<bf16*>(k_cache),
                     const_cast<bf16*>(v_cache),
                     nullptr,
                     nullptr,
                     position,
                     heads,
                     kv_heads,
                     size,
                     capacity};
  look_kernel<<<kv_heads * std::min(most_parts, ceil_div(capacity, keys_per_part)), threads, 0, stream>>>(a);
  join_kernel<<<ceil_div(heads * size, threads), threads, 0, stream>>>(a);
  must(cudaGetLastError());
}

void decode_token(float* logits, const model& m, const state& s, cudaStream_t stream) {
  const shape& d = m.shape;
  const int of_heads = d.heads * d.size, all_heads = (d.heads + 2 * d.kv_heads) * d.size;
  float *const x = s.scratch, *const hidden = x + d.width, *const qkv = hidden + d.hidden, *const q = qkv + all_heads,
               *const attention = q + of_heads, *const workspace = attention + of_heads;
  const int tasks = std::max({ceil_div(all_heads, tile_rows), ceil_div(d.width, tile_rows),
                              ceil_div(2 * d.hidden, tile_rows), d.kv_heads * most_parts});
  const int blocks = std::min(resident_blocks(), tasks);
  for (int i = 0; i < d.layers; ++i) {
    const layer& l = m.layers[i];
    const std::size_t cache = static_cast<std::size_t>(i) * static_cast<std::size_t>(d.kv_heads) *
                              static_cast<std::size_t>(d.capacity) * static_cast<std::size_t>(d.size);
    layer_args a{i == 0 ? m.embedding : nullptr,
                 s.token,
                 {qkv, l.qkv, x, l.norm1, nullptr, all_heads, d.width},
                 {x, l.out, attention, nullptr, x, d.width, of_heads},
                 {hidden, l.gate_up, x, l.norm2, nullptr, d.hidden, d.width},
                 {x, l.down, hidden, nullptr, x, d.width, d.hidden},
                 {q, attention, workspace, s.k_cache + cache, s.v_cache + cache, qkv, m.rotary, s.position, d.heads,
                  d.kv_heads, d.size, d.capacity}};
    void* arguments[] = {&a};
    must(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(layer_kernel), dim3(static_cast<unsigned>(blocks)),
                                     dim3(threads), arguments, 0, stream));
  }
  norm_matvec(logits, m.embedding, x, m.norm, d.vocabulary, d.width, stream);
}

void generate(int* chosen, float* logits, const model& m, const state& s, int count, cudaStream_t stream) {
  if (count <= 0) return;
  struct recording {
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    ~recording() {
      if (ready) cudaGraphExecDestroy(ready);
      if (graph) cudaGraphDestroy(graph);
      if (stream) cudaStreamDestroy(stream);
    }
  } one;
  must(cudaStreamCreateWithFlags(&one.stream, cudaStreamNonBlocking));
  must(cudaStreamBeginCapture(one.stream, cudaStreamCaptureModeThreadLocal));
  decode_token(logits, m, s, one.stream);
  choose<<<1, choosing, 0, one.stream>>>(chosen, s.token, s.position, logits, m.shape.vocabulary);
  must(cudaStreamEndCapture(one.stream, &one.graph));
  must(cudaGraphInstantiate(&one.ready, one.graph, 0));
  for (int i = 0; i < count; ++i) must(cudaGraphLaunch(one.ready, stream));
}

}  // namespace lab10
