// The backward pass of causal attention by wgmma, without a matrix of scores in memory.
//
// A block has two groups of 128 threads, with 64 rows each, and a thread that copies tiles of 64 rows by TMA for both.
// In every product a group's own rows are the left factor, in registers, and a tile is the right one, in shared memory:
//
//   of keys      own keys, tiles of queries     S^T = K Q^T, dP^T = V dO^T, dV = P^T dO, dK = dS^T Q
//   of queries   own queries, tiles of keys     S = Q K^T, dP = dO V^T, dQ = dS K
//
// So P and dS go from sums to factors within a thread, and no block adds to what another one adds to: the bits are the
// same in each run. The price: S and dP are computed twice, 7 products instead of 5.
#include "kernels.hpp"
#include "lab/device.hpp"
#include "lab/hopper.hpp"

namespace lab14::mixed {
namespace {

using namespace lab::hopper;

constexpr int groups = 2, group_size = 128, own = 64, block_rows = groups * own, stages = 3;
constexpr int threads = (groups + 1) * group_size, line = 128;
constexpr float log2_e = 1.44269504f, scale = 0.125f, exponent = scale * log2_e;  // 1 / sqrt(head_size)

/// 2^x; results below 2^-126 are 0.
__device__ float power_of_2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

using left = unsigned[4][4];  // 64 rows of a left factor, 64 columns

/// d = a b^T, where b's rows are along k; one group of products.
__device__ void multiply_rows(float (&d)[32], const left& a, const bf16* b) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    multiply_transposed(d, a[i], factor(b, 16, 8 * line) + static_cast<unsigned>(2 * i), i > 0);
  commit_products();
}
/// d += a b
__device__ void multiply_add(float (&d)[32], const left& a, const bf16* b) {
#pragma unroll
  for (int i = 0; i < 4; ++i) multiply(d, a[i], factor(b, tile * line, 8 * line) + static_cast<unsigned>(i * line), 1);
  commit_products();
}

__device__ void round(left& to, const float (&from)[32]) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) to[i][j] = packed(from[8 * i + 2 * j], from[8 * i + 2 * j + 1]);
}

/// Where a thread's sums belong: rows g and g + 8 of its warp's 16, columns 8 j + pair, + 1.
struct place {
  __device__ explicit place(int first)
      : row(first + static_cast<int>(threadIdx.x) / 32 * 16 + static_cast<int>(threadIdx.x) % 32 / 4),
        pair(threadIdx.x % 4 * 2) {}
  int row, pair;
};

/// A thread's part of 64 rows by 64 columns, from memory; rows from `end` on are 0.
__device__ void load(left& to, const bf16* from, std::size_t pitch, const place& at, int end) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int row = at.row + j % 2 * 8;
      to[i][j] = row < end ? *reinterpret_cast<const unsigned*>(from + row * pitch + 16 * i + j / 2 * 8 + at.pair) : 0;
    }
}
__device__ void store(bf16* to, std::size_t pitch, const float (&from)[32], const float (&times)[2], const place& at,
                      int end) {
#pragma unroll
  for (int r = 0; r < 2; ++r)
    if (at.row + 8 * r < end)
#pragma unroll
      for (int j = 0; j < 8; ++j)
        *reinterpret_cast<unsigned*>(to + (at.row + 8 * r) * pitch + 8 * j + at.pair) =
            packed(from[4 * j + 2 * r] * times[r], from[4 * j + 2 * r + 1] * times[r]);
}

/// Tiles on their way: two matrices, and for queries their lse and delta.
struct pipeline {
  alignas(1024) bf16 a[stages][tile * head_size];
  alignas(1024) bf16 b[stages][tile * head_size];
  alignas(16) float lse[stages][tile], delta[stages][tile];
  arrivals filled[stages], emptied[stages];
};

__device__ pipeline& make_pipeline() {
  extern __shared__ std::byte raw[];
  pipeline& s = *reinterpret_cast<pipeline*>(raw + (1024 - address(raw) % 1024) % 1024);
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) s.filled[i].init(1), s.emptied[i].init(groups * group_size / 32);
    fence_init();
  }
  __syncthreads();
  return s;
}
__device__ bool copies() { return threadIdx.x / group_size == groups; }

/// The copying thread: tiles first ... last - 1.
template <class Copy>
__device__ void copy_tiles(pipeline& s, int first, int last, const Copy& copy) {
  if (threadIdx.x != groups * group_size) return;
  for (int t = first; t < last; ++t) {
    const int n = t - first, stage = n % stages;
    s.emptied[stage].wait((n / stages & 1) ^ 1);
    copy(t, stage);
  }
}
/// The other groups: use(tile, stage) for the tiles that concern this group.
template <class Concerns, class Use>
__device__ void use_tiles(pipeline& s, int first, int last, const Concerns& concerns, const Use& use) {
  for (int t = first; t < last; ++t) {
    const int n = t - first, stage = n % stages;
    s.filled[stage].wait(n / stages & 1);
    if (concerns(t)) use(t, stage);
    __syncwarp();
    if (threadIdx.x % 32 == 0) s.emptied[stage].arrive();
  }
}

__device__ void copy_floats(float* to, const float* from, arrivals& arrived) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address(to)),
      "l"(from), "n"(tile * 4), "r"(address(&arrived))
      : "memory");
}

/// The sequence and head of a block.
struct head_of {
  __device__ head_of(int heads, int length)
      : number(blockIdx.x),
        column(blockIdx.x % heads * head_size),
        first_row(static_cast<int>(blockIdx.x) / heads * length),
        channels(heads * head_size) {}
  int number, column, first_row, channels;
};

/// delta = the sum over a head's columns of out d_out; eight threads share a head of a row.
__global__ void delta_kernel(float* delta, const bf16* out, const bf16* d_out, int count, int length, int heads,
                             int pitch) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  if (i < count) {
    const uint4 a = reinterpret_cast<const uint4*>(out)[i], b = reinterpret_cast<const uint4*>(d_out)[i];
    const unsigned x[] = {a.x, a.y, a.z, a.w}, y[] = {b.x, b.y, b.z, b.w};
#pragma unroll
    for (int k = 0; k < 4; ++k)
      sum += __uint_as_float(x[k] << 16) * __uint_as_float(y[k] << 16) +
             __uint_as_float(x[k] & 0xFFFF0000u) * __uint_as_float(y[k] & 0xFFFF0000u);
  }
  for (int step = 4; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (i >= count || i % 8 != 0) return;
  const int row = i / 8 / heads, head = i / 8 % heads;
  delta[static_cast<std::size_t>(row / length * heads + head) * pitch + row % length] = sum;
}

struct backward_in {
  bf16* d_qkv;
  const bf16 *qkv, *d_out;
  const float *lse, *delta;
  int length, heads, pitch;
};

// Two kernels: when one had both kinds of blocks, ptxas ran their products one by one (C7514).
__global__ void __launch_bounds__(threads, 1)
    backward_of_keys(const __grid_constant__ CUtensorMap map_qkv, const __grid_constant__ CUtensorMap map_d_out,
                     backward_in in) {
  pipeline& s = make_pipeline();
  const int first = blockIdx.y * block_rows;
  const head_of h(in.heads, in.length);
  const int from = first / tile, tiles = (in.length + tile - 1) / tile, group = threadIdx.x / group_size;
  if (copies()) {
    fewer_registers<24>();
    copy_tiles(s, from, tiles, [&](int t, int stage) {
      s.filled[stage].arrive_and_expect(2 * sizeof s.a[0] + 2 * sizeof s.lse[0]);
      copy_box(s.a[stage], map_qkv, s.filled[stage], h.first_row + t * tile, h.column);
      copy_box(s.b[stage], map_d_out, s.filled[stage], h.first_row + t * tile, h.column);
      copy_floats(s.lse[stage], in.lse + h.number * in.pitch + t * tile, s.filled[stage]);
      copy_floats(s.delta[stage], in.delta + h.number * in.pitch + t * tile, s.filled[stage]);
    });
    return;
  }
  more_registers<240>();
  const place at(first);
  const int own_first = first + group * own;
  const std::size_t row_pitch = std::size_t{3} * h.channels, start = h.first_row * row_pitch + h.column;
  left k, v, of_weights, of_scores;
  load(k, in.qkv + start + h.channels, row_pitch, at, in.length);
  load(v, in.qkv + start + 2 * h.channels, row_pitch, at, in.length);
  float d_k[32] = {}, d_v[32] = {};
  use_tiles(
      s, from, tiles, [&](int t) { return (t + 1) * tile > own_first; },
      [&](int t, int stage) {
        float weight[32], d_weight[32];
        fence_products();
        multiply_rows(weight, k, s.a[stage]);
        multiply_rows(d_weight, v, s.b[stage]);
        wait_for_products<1>(weight);
        // Columns are queries here. Those before the key, and those after the text, count for nothing.
        if (t * tile < own_first + own || (t + 1) * tile > in.length)
#pragma unroll
          for (int i = 0; i < 32; ++i) {
            const int query = t * tile + i / 4 * 8 + at.pair + i % 2;
            if (query < at.row + i / 2 % 2 * 8 || query >= in.length) weight[i] = -INFINITY;
          }
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          const float2 l = *reinterpret_cast<const float2*>(s.lse[stage] + 8 * j + at.pair);
#pragma unroll
          for (int i = 4 * j; i < 4 * j + 4; ++i) weight[i] = power_of_2(weight[i] * exponent - (i % 2 ? l.y : l.x));
        }
        round(of_weights, weight);
        fence_products();
        multiply_add(d_v, of_weights, s.b[stage]);
        wait_for_products<1>(d_weight);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          const float2 l = *reinterpret_cast<const float2*>(s.delta[stage] + 8 * j + at.pair);
#pragma unroll
          for (int i = 4 * j; i < 4 * j + 4; ++i) d_weight[i] = weight[i] * (d_weight[i] - (i % 2 ? l.y : l.x));
        }
        round(of_scores, d_weight);
        fence_products();
        multiply_add(d_k, of_scores, s.a[stage]);
        wait_for_products<0>(d_v, d_k);
      });
  store(in.d_qkv + start + h.channels, row_pitch, d_k, {scale, scale}, at, in.length);
  store(in.d_qkv + start + 2 * h.channels, row_pitch, d_v, {1.0f, 1.0f}, at, in.length);
}

__global__ void __launch_bounds__(threads, 1)
    backward_of_queries(const __grid_constant__ CUtensorMap map_qkv, backward_in in) {
  pipeline& s = make_pipeline();
  const int first = static_cast<int>(gridDim.y - 1 - blockIdx.y) * block_rows;
  const head_of h(in.heads, in.length);
  const int tiles = (min(first + block_rows, in.length) + tile - 1) / tile, group = threadIdx.x / group_size;
  if (copies()) {
    fewer_registers<24>();
    copy_tiles(s, 0, tiles, [&](int t, int stage) {
      s.filled[stage].arrive_and_expect(2 * sizeof s.a[0]);
      copy_box(s.a[stage], map_qkv, s.filled[stage], h.first_row + t * tile, h.channels + h.column);
      copy_box(s.b[stage], map_qkv, s.filled[stage], h.first_row + t * tile, 2 * h.channels + h.column);
    });
    return;
  }
  more_registers<240>();
  const place at(first);
  const int own_first = first + group * own;
  const std::size_t row_pitch = std::size_t{3} * h.channels, start = h.first_row * row_pitch + h.column;
  left q, d_out, of_scores;
  load(q, in.qkv + start, row_pitch, at, in.length);
  load(d_out, in.d_out + static_cast<std::size_t>(h.first_row) * h.channels + h.column, h.channels, at, in.length);
  float lse[2] = {}, delta[2] = {}, d_q[32] = {};
#pragma unroll
  for (int r = 0; r < 2; ++r)
    if (at.row + 8 * r < in.length) {
      lse[r] = in.lse[h.number * in.pitch + at.row + 8 * r];
      delta[r] = in.delta[h.number * in.pitch + at.row + 8 * r];
    }
  use_tiles(
      s, 0, tiles, [&](int t) { return t * tile < own_first + own; },
      [&](int t, int stage) {
        float weight[32], d_weight[32];
        fence_products();
        multiply_rows(weight, q, s.a[stage]);
        multiply_rows(d_weight, d_out, s.b[stage]);
        wait_for_products<1>(weight);
        const bool edge = (t + 1) * tile > own_first;
#pragma unroll
        for (int i = 0; i < 32; ++i) {
          const bool counts = !edge || t * tile + i / 4 * 8 + at.pair + i % 2 <= at.row + i / 2 % 2 * 8;
          weight[i] = counts ? power_of_2(weight[i] * exponent - lse[i / 2 % 2]) : 0.0f;
        }
        wait_for_products<0>(d_weight);
#pragma unroll
        for (int i = 0; i < 32; ++i) d_weight[i] = weight[i] * (d_weight[i] - delta[i / 2 % 2]);
        round(of_scores, d_weight);
        fence_products();
        multiply_add(d_q, of_scores, s.a[stage]);
        wait_for_products<0>(d_q);
      });
  store(in.d_qkv + start, row_pitch, d_q, {scale, scale}, at, in.length);
}

constexpr int shared_bytes = sizeof(pipeline) + 1024;

template <class Kernel>
void allow_shared_memory(Kernel kernel) {
  LAB_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
}

}  // namespace

void attention_backward(bf16* d_qkv, float* delta, const bf16* qkv, const bf16* out, const float* lse,
                        const bf16* d_out, int batch, int length, int heads, cudaStream_t stream) {
  const int rows = batch * length, channels = heads * head_size, pitch = pitch_of(length), count = rows * channels / 8;
  delta_kernel<<<(count + 255) / 256, 256, 0, stream>>>(delta, out, d_out, count, length, heads, pitch);
  LAB_CUDA_CHECK(cudaGetLastError());
  const auto map = map_of(qkv, {rows, 3 * channels}, {tile, head_size});
  const dim3 blocks(batch * heads, (length - 1) / block_rows + 1);
  const backward_in in{d_qkv, qkv, d_out, lse, delta, length, heads, pitch};
  allow_shared_memory(backward_of_keys);
  backward_of_keys<<<blocks, threads, shared_bytes, stream>>>(map, map_of(d_out, {rows, channels}, {tile, head_size}),
                                                              in);
  LAB_CUDA_CHECK(cudaGetLastError());
  allow_shared_memory(backward_of_queries);
  backward_of_queries<<<blocks, threads, shared_bytes, stream>>>(map, in);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab14::mixed
