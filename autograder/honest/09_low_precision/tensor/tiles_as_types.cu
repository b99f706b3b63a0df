// Tiles are types: a type knows its shape and where its chunks of 16 bytes lie. One kernel template serves the last
// two rungs; how a tile arrives is a parameter.
#include <cooperative_groups.h>
#include <lab/tensor_core.hpp>
#include <mma.h>

#include "low_precision.hpp"

namespace lab09 {
namespace {

namespace cg = cooperative_groups;

constexpr int per_chunk = 8;

// What a chunk outside the matrix is: zeros.
struct source {
  const bf16* at;
  int rows, columns;
  __device__ const bf16* chunk(int row, int column) const {
    return row < rows && column < columns ? at + static_cast<long long>(row) * columns + column : nullptr;
  }
};

template <int Rows, int Columns, int Shift>
struct alignas(16) tile {
  static constexpr int chunks = Columns / per_chunk;
  uint4 data[Rows * chunks];

  __device__ uint4* at(int row, int chunk) { return &data[row * chunks + (chunk ^ (row >> Shift & (chunks < 8 ? chunks - 1 : 7)))]; }

  template <int Threads, class Put>
  __device__ void fill(const source& from, int row, int column, Put put) {
#pragma unroll
    for (int i = 0; i < Rows * chunks / Threads; ++i) {
      const int c = i * Threads + static_cast<int>(threadIdx.x), r = c / chunks;
      put(at(r, c % chunks), from.chunk(row + r, column + c % chunks * per_chunk), from.at);
    }
  }
};

struct by_registers {
  __device__ void operator()(uint4* to, const bf16* from, const bf16*) const {
    *to = from ? __ldg(reinterpret_cast<const uint4*>(from)) : uint4{};
  }
};

struct asynchronously {
  __device__ void operator()(uint4* to, const bf16* from, const bf16* any) const {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from ? from : any), "r"(from ? 16 : 0)
                 : "memory");
  }
};

// ---- the first rung --------------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(128) wmma_kernel(bf16* c, source a, source b) {
  using namespace nvcuda::wmma;
  union buffers {
    struct {
      bf16 a[64][32 + 8], b[32][64 + 8];
    } in;
    float out[64][64 + 4];
  };
  __shared__ __align__(32) unsigned char raw[sizeof(buffers)];
  buffers& s = *reinterpret_cast<buffers*>(raw);
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const int row = blockIdx.y * 64, column = blockIdx.x * 64;
  const int wr = warp.meta_group_rank() / 2 * 32, wc = warp.meta_group_rank() % 2 * 32;
  fragment<accumulator, 16, 16, 16, float> sums[2][2];
  for (auto& line : sums)
    for (auto& f : line) fill_fragment(f, 0.0f);
  for (int k = 0; k < a.columns; k += 32) {
    for (int i = block.thread_rank(); i < 64 * 4; i += block.size())
      by_registers{}(reinterpret_cast<uint4*>(&s.in.a[i / 4][i % 4 * 8]), a.chunk(row + i / 4, k + i % 4 * 8), nullptr);
    for (int i = block.thread_rank(); i < 32 * 8; i += block.size())
      by_registers{}(reinterpret_cast<uint4*>(&s.in.b[i / 8][i % 8 * 8]), b.chunk(k + i / 8, column + i % 8 * 8), nullptr);
    block.sync();
    for (int kk = 0; kk < 32; kk += 16) {
      fragment<matrix_a, 16, 16, 16, bf16, row_major> fa[2];
      fragment<matrix_b, 16, 16, 16, bf16, row_major> fb[2];
      for (int i = 0; i < 2; ++i) load_matrix_sync(fa[i], &s.in.a[wr + 16 * i][kk], 40);
      for (int j = 0; j < 2; ++j) load_matrix_sync(fb[j], &s.in.b[kk][wc + 16 * j], 72);
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) mma_sync(sums[i][j], fa[i], fb[j], sums[i][j]);
    }
    block.sync();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      store_matrix_sync(&s.out[wr + 16 * i][wc + 16 * j], sums[i][j], 68, mem_row_major);
  block.sync();
  for (int i = block.thread_rank(); i < 64 * 32; i += block.size()) {
    const int r = row + i / 32, q = column + i % 32 * 2;
    if (r < a.rows && q < b.columns)
      *reinterpret_cast<__nv_bfloat162*>(c + static_cast<long long>(r) * b.columns + q) =
          __floats2bfloat162_rn(s.out[i / 32][i % 32 * 2], s.out[i / 32][i % 32 * 2 + 1]);
  }
}

// ---- the other two ---------------------------------------------------------------------------------------------------

struct product {
  float sums[4][4][4] = {};

  template <class A, class B>
  __device__ void add(A& ta, B& tb, int wr, int wc) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int kk = 0; kk < 32; kk += 16) {
      unsigned fa[4][4], fb[2][4];
      for (int i = 0; i < 4; ++i) lab::ldmatrix(fa[i], ta.at(wr + 16 * i + lane % 16, kk / 8 + lane / 16));
      for (int j = 0; j < 2; ++j) lab::ldmatrix_trans(fb[j], tb.at(kk + lane % 16, wc / 8 + 2 * j + lane / 16));
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
          const unsigned two[2] = {fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]};
          lab::mma(sums[i][j], fa[i], two);
        }
    }
  }

  __device__ void store(bf16* c, int row, int column, int m, int n) const {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    for (int i = 0; i < 4; ++i)
      for (int half = 0; half < 2; ++half)
        for (int j = 0; j < 4; ++j) {
          const int r = row + 16 * i + 8 * half + g, q = column + 8 * j + 2 * t;
          if (r < m && q < n)
            *reinterpret_cast<__nv_bfloat162*>(c + static_cast<long long>(r) * n + q) =
                __floats2bfloat162_rn(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
        }
  }
};

struct step {
  tile<128, 32, 1> a;
  tile<32, 128, 0> b;
};

template <int Buffers, class Put>
__global__ void __launch_bounds__(256) mma_kernel(bf16* c, source a, source b) {
  __shared__ step steps[Buffers];
  const int row = blockIdx.y * 128, column = blockIdx.x * 128, warp = threadIdx.x / 32;
  const int wr = warp / 4 * 64, wc = warp % 4 * 32, all = (a.columns + 31) / 32;
  const auto fetch = [&](int t) {
    if (t < all) {
      steps[t % Buffers].a.template fill<256>(a, row, t * 32, Put{});
      steps[t % Buffers].b.template fill<256>(b, t * 32, column, Put{});
    }
    if (Buffers > 1) asm volatile("cp.async.commit_group;" ::: "memory");
  };
  product p;
  for (int t = 0; t < Buffers - 1; ++t) fetch(t);
  for (int t = 0; t < all; ++t) {
    if constexpr (Buffers == 1) {
      __syncthreads();
      fetch(t);
    } else {
      asm volatile("cp.async.wait_group %0;" ::"n"(Buffers - 2) : "memory");
    }
    __syncthreads();
    if (Buffers > 1) fetch(t + Buffers - 1);
    p.add(steps[t % Buffers].a, steps[t % Buffers].b, wr, wc);
  }
  p.store(c, row + wr, column + wc, a.rows, b.columns);
}

constexpr unsigned up(int a, int b) { return static_cast<unsigned>((a + b - 1) / b); }

}  // namespace

void gemm_wmma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  wmma_kernel<<<dim3(up(n, 64), up(m, 64)), 128, 0, stream>>>(c, {a, m, k}, {b, k, n});
}

void gemm_mma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  mma_kernel<1, by_registers><<<dim3(up(n, 128), up(m, 128)), 256, 0, stream>>>(c, {a, m, k}, {b, k, n});
}

void gemm_pipelined(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  mma_kernel<3, asynchronously><<<dim3(up(n, 128), up(m, 128)), 256, 0, stream>>>(c, {a, m, k}, {b, k, n});
}

}  // namespace lab09
