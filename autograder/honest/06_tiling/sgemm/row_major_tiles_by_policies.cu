// A policy per rung; A's tile stays row-major, and a thread reads four steps of k at once; a matrix class, block.sync().
#include "tiling.hpp"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline_primitives.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace cg = cooperative_groups;

namespace lab06 {
namespace {

template <class T>
class matrix {
 public:
  __host__ __device__ matrix(T* data, int rows, int columns) : data_(data), rows_(rows), columns_(columns) {}
  __device__ T& operator()(int r, int c) const { return data_[static_cast<std::int64_t>(r) * columns_ + c]; }
  __device__ bool has(int r, int c) const { return r < rows_ && c < columns_; }
  __device__ float get(int r, int c) const { return has(r, c) ? (*this)(r, c) : 0.0f; }
  __host__ __device__ int rows() const { return rows_; }
  __host__ __device__ int columns() const { return columns_; }
  __device__ bool wide() const { return columns_ % 4 == 0; }
  __device__ T* data() const { return data_; }

 private:
  T* data_;
  int rows_, columns_;
};
using in = matrix<const float>;
using out = matrix<float>;

struct product {
  out c;
  in a, b;
};

struct place {
  int row, column;
};

template <int tm, int tn>
__device__ place origin(const product& p) {
  const int across = (p.c.columns() - 1) / tn + 1;
  return {static_cast<int>(blockIdx.x) / across * tm, static_cast<int>(blockIdx.x) % across * tn};
}

// ---- one element per thread

struct coalesced {
  static constexpr int tm = 16, tn = 16, threads = 256;
  __device__ static void run(const product& p) {
    const auto [row0, column0] = origin<tm, tn>(p);
    const int row = row0 + threadIdx.x / tn, column = column0 + threadIdx.x % tn;
    if (!p.c.has(row, column)) return;
    float sum = 0;
    for (int i = 0; i < p.a.columns(); ++i) sum = fmaf(p.a(row, i), p.b(i, column), sum);
    p.c(row, column) = sum;
  }
};

struct tiled {
  static constexpr int tm = 32, tn = 32, threads = 1024;
  __device__ static void run(const product& p) {
    __shared__ float sa[tm][32], sb[32][tn];
    const auto block = cg::this_thread_block();
    const auto [row0, column0] = origin<tm, tn>(p);
    const int y = threadIdx.x / 32, x = threadIdx.x % 32;
    float sum = 0;
    for (int i = 0; i < p.a.columns(); i += 32) {
      sa[y][x] = p.a.get(row0 + y, i + x);
      sb[y][x] = p.b.get(i + y, column0 + x);
      block.sync();
      for (int j = 0; j < 32; ++j) sum = fmaf(sa[y][j], sb[j][x], sum);
      block.sync();
    }
    if (p.c.has(row0 + y, column0 + x)) p.c(row0 + y, column0 + x) = sum;
  }
};

// ---- registers: rows x columns per thread

template <int tile_m, int tile_n, int rows, int columns>
struct by_registers {
  static constexpr int tm = tile_m, tn = tile_n, threads = tm * tn / rows / columns, tk = 8;
  __device__ static void run(const product& p) {
    __shared__ float sa[tm][tk], sb[tk][tn];
    const auto [row0, column0] = origin<tm, tn>(p);
    const int t = threadIdx.x;
    const int y0 = t / (tn / columns) * rows, x0 = t % (tn / columns) * columns;
    float sum[rows][columns]{};
    for (int i = 0; i < p.a.columns(); i += tk) {
      for (int e = t; e < tm * tk; e += threads) sa[e / tk][e % tk] = p.a.get(row0 + e / tk, i + e % tk);
      for (int e = t; e < tn * tk; e += threads) sb[e / tn][e % tn] = p.b.get(i + e / tn, column0 + e % tn);
      __syncthreads();
#pragma unroll
      for (int j = 0; j < tk; ++j) {
        float left[rows], right[columns];
#pragma unroll
        for (int y = 0; y < rows; ++y) left[y] = sa[y0 + y][j];
#pragma unroll
        for (int x = 0; x < columns; ++x) right[x] = sb[j][x0 + x];
#pragma unroll
        for (int y = 0; y < rows; ++y)
#pragma unroll
          for (int x = 0; x < columns; ++x) sum[y][x] = fmaf(left[y], right[x], sum[y][x]);
      }
      __syncthreads();
    }
#pragma unroll
    for (int y = 0; y < rows; ++y)
#pragma unroll
      for (int x = 0; x < columns; ++x)
        if (p.c.has(row0 + y0 + y, column0 + x0 + x)) p.c(row0 + y0 + y, column0 + x0 + x) = sum[y][x];
  }
};

// ---- vectors: A row-major, a thread reads 4 steps of k of a row at once

template <int tile_n, int depth, int per_row, bool async>
struct by_vectors {
  static constexpr int tm = 128, tn = tile_n, threads = 256, tk = depth, buffers = async ? 2 : 1;
  static constexpr int warp_n = per_row * 8, across = tn / warp_n;

  struct storage {
    float4 a[buffers][tm][tk / 4];
    float4 b[buffers][tk][tn / 4];
  };

  // rows that four lanes read together lie in different banks
  __device__ static int swizzle(int row, int group) { return group ^ (row / 1 % (tk / 4)); }

  template <int lines, int groups, class Where>
  __device__ static void fetch(const in& from, int r0, int c0, Where where) {
    for (int e = threadIdx.x; e < lines * groups; e += threads) {
      const int r = e / groups, g = e % groups;
      float* to = reinterpret_cast<float*>(where(r, g));
      const int row = r0 + r, column = c0 + 4 * g;
      if (from.wide()) {
        const bool ok = from.has(row, column);
        if constexpr (async)
          __pipeline_memcpy_async(to, ok ? &from(row, column) : from.data(), 16, ok ? 0 : 16);
        else
          *reinterpret_cast<float4*>(to) =
              ok ? *reinterpret_cast<const float4*>(&from(row, column)) : float4{0, 0, 0, 0};
      } else {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const bool ok = from.has(row, column + q);
          if constexpr (async)
            __pipeline_memcpy_async(to + q, ok ? &from(row, column + q) : from.data(), 4, ok ? 0 : 4);
          else
            to[q] = from.get(row, column + q);
        }
      }
    }
  }

  __device__ static void load(storage& s, int buffer, const product& p, int row0, int column0, int i) {
    fetch<tm, tk / 4>(p.a, row0, i, [&](int r, int g) { return &s.a[buffer][r][swizzle(r, g)]; });
    fetch<tk, tn / 4>(p.b, i, column0, [&](int r, int g) { return &s.b[buffer][r][g]; });
    if constexpr (async) __pipeline_commit();
  }

  __device__ static void run(const product& p) {
    extern __shared__ float4 raw[];
    storage& s = *reinterpret_cast<storage*>(raw);
    const auto [row0, column0] = origin<tm, tn>(p);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int y0 = warp / across * 32 + lane / 8;       // rows y0 + 4 y
    const int x0 = warp % across * (warp_n / 4) + lane % 8;  // groups of 4 columns x0 + 8 x
    float4 sum[8][per_row / 4]{};
    const int steps = (p.a.columns() - 1) / tk + 1;
    if constexpr (async) load(s, 0, p, row0, column0, 0);
    for (int step = 0; step < steps; ++step) {
      const int now = async ? step % 2 : 0;
      if constexpr (async) {
        __pipeline_wait_prior(0);
        __syncthreads();
        if (step + 1 < steps) load(s, 1 - now, p, row0, column0, (step + 1) * tk);
      } else {
        load(s, 0, p, row0, column0, step * tk);
        __syncthreads();
      }
#pragma unroll
      for (int g = 0; g < tk / 4; ++g) {
        float4 left[8];
#pragma unroll
        for (int y = 0; y < 8; ++y) left[y] = s.a[now][y0 + 4 * y][swizzle(y0 + 4 * y, g)];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          float4 right[per_row / 4];
#pragma unroll
          for (int x = 0; x < per_row / 4; ++x) right[x] = s.b[now][4 * g + j][x0 + 8 * x];
#pragma unroll
          for (int y = 0; y < 8; ++y) {
            const float f = j == 0 ? left[y].x : j == 1 ? left[y].y : j == 2 ? left[y].z : left[y].w;
#pragma unroll
            for (int x = 0; x < per_row / 4; ++x) {
              sum[y][x].x = fmaf(f, right[x].x, sum[y][x].x);
              sum[y][x].y = fmaf(f, right[x].y, sum[y][x].y);
              sum[y][x].z = fmaf(f, right[x].z, sum[y][x].z);
              sum[y][x].w = fmaf(f, right[x].w, sum[y][x].w);
            }
          }
        }
      }
      if constexpr (!async) __syncthreads();
    }
#pragma unroll
    for (int y = 0; y < 8; ++y)
#pragma unroll
      for (int x = 0; x < per_row / 4; ++x) {
        const int row = row0 + y0 + 4 * y, column = column0 + 4 * (x0 + 8 * x);
        if (p.c.wide()) {
          if (p.c.has(row, column)) *reinterpret_cast<float4*>(&p.c(row, column)) = sum[y][x];
        } else {
          if (p.c.has(row, column)) p.c(row, column) = sum[y][x].x;
          if (p.c.has(row, column + 1)) p.c(row, column + 1) = sum[y][x].y;
          if (p.c.has(row, column + 2)) p.c(row, column + 2) = sum[y][x].z;
          if (p.c.has(row, column + 3)) p.c(row, column + 3) = sum[y][x].w;
        }
      }
  }
};

template <class How>
__global__ void __launch_bounds__(How::threads) kernel(const product p) {
  How::run(p);
}

template <class How>
void multiply(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  const long long blocks = ((m - 1LL) / How::tm + 1) * ((n - 1LL) / How::tn + 1);
  std::size_t bytes = 0;
  if constexpr (requires { typename How::storage; }) {
    bytes = sizeof(typename How::storage);
    cudaFuncSetAttribute(kernel<How>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  }
  kernel<How><<<static_cast<unsigned>(blocks), How::threads, bytes, stream>>>(
      product{out{c, m, n}, in{a, m, k}, in{b, k, n}});
}

}  // namespace

void sgemm_coalesced(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  multiply<coalesced>(c, a, b, m, n, k, stream);
}
void sgemm_tiled(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  multiply<tiled>(c, a, b, m, n, k, stream);
}
void sgemm_1d(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  multiply<by_registers<64, 64, 8, 1>>(c, a, b, m, n, k, stream);
}
void sgemm_2d(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  multiply<by_registers<128, 128, 8, 8>>(c, a, b, m, n, k, stream);
}
void sgemm_vectorized(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  multiply<by_vectors<128, 8, 8, false>>(c, a, b, m, n, k, stream);
}
void sgemm_pipelined(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  multiply<by_vectors<128, 8, 8, true>>(c, a, b, m, n, k, stream);
}
void sgemm_warptiled(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  multiply<by_vectors<256, 8, 16, true>>(c, a, b, m, n, k, stream);
}
void sgemm(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  multiply<by_vectors<256, 16, 16, true>>(c, a, b, m, n, k, stream);
}

}  // namespace lab06
