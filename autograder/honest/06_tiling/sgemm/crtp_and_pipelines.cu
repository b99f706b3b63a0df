// All rungs from one CRTP tile loader; cp.async through cuda::pipeline / cooperative groups; 3-D grids folded by hand.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/pipeline>
#include <cuda_runtime.h>

#include <lab/device.hpp>
#include "tiling.hpp"

namespace cg = cooperative_groups;

namespace {

struct problem { float* c; const float *a, *b; int m, n, k; };

__host__ __device__ constexpr int up(int x, int to) { return (x + to - 1) / to; }

// ---- coalesced: grid-stride over 32-wide row pieces
__global__ void coalesced(problem p) {
  const long total = (long)p.m * p.n;
  for (long e = blockIdx.x * (long)blockDim.x + threadIdx.x; e < total; e += gridDim.x * (long)blockDim.x) {
    const int r = e / p.n, q = e % p.n;
    const float* a = p.a + (long)r * p.k;
    const float* b = p.b + q;
    float s = 0;
#pragma unroll 4
    for (int i = 0; i < p.k; ++i, b += p.n) s = fmaf(__ldg(a + i), __ldg(b), s);
    p.c[e] = s;
  }
}

// ---- tiled, with 1-D block of 1024
__global__ void __launch_bounds__(1024) tiled(problem p) {
  __shared__ float sa[32 * 32], sb[32 * 32];
  auto block = cg::this_thread_block();
  const int x = block.thread_rank() % 32, y = block.thread_rank() / 32;
  const int tiles_n = up(p.n, 32);
  const int r = blockIdx.x / tiles_n * 32 + y, q = blockIdx.x % tiles_n * 32 + x;
  float s = 0;
  for (int k0 = 0; k0 < p.k; k0 += 32) {
    sa[y * 32 + x] = (r < p.m && k0 + x < p.k) ? p.a[(long)r * p.k + k0 + x] : 0.f;
    sb[y * 32 + x] = (k0 + y < p.k && q < p.n) ? p.b[(long)(k0 + y) * p.n + q] : 0.f;
    block.sync();
    for (int i = 0; i < 32; ++i) s += sa[y * 32 + i] * sb[i * 32 + x];
    block.sync();
  }
  if (r < p.m && q < p.n) p.c[(long)r * p.n + q] = s;
}

// ---- CRTP for the block-tiled rungs
template <class Self>
struct block_tile {
  problem p;
  int r0, q0;
  __device__ float a(int r, int i) const { return r0 + r < p.m && i < p.k ? p.a[(long)(r0 + r) * p.k + i] : 0.f; }
  __device__ float b(int i, int q) const { return i < p.k && q0 + q < p.n ? p.b[(long)i * p.n + q0 + q] : 0.f; }
  __device__ void put(int r, int q, float v) const { if (r0 + r < p.m && q0 + q < p.n) p.c[(long)(r0 + r) * p.n + q0 + q] = v; }
  __device__ void run() { static_cast<Self*>(this)->compute(); }
};

struct one_d : block_tile<one_d> {
  static constexpr int threads = 512, M = 64, N = 64;
  __device__ void compute() {
    __shared__ float sa[8][64 + 1], sb[8][64];
    const int t = threadIdx.x, col = t & 63, grp = t >> 6;
    float acc[8]{};
    for (int k0 = 0; k0 < p.k; k0 += 8) {
      sa[t & 7][t >> 3] = a(t >> 3, k0 + (t & 7));
      sb[t >> 6][t & 63] = b(k0 + (t >> 6), t & 63);
      __syncthreads();
      for (int i = 0; i < 8; ++i) {
        const float v = sb[i][col];
#pragma unroll
        for (int j = 0; j < 8; ++j) acc[j] += sa[i][grp * 8 + j] * v;
      }
      __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) put(grp * 8 + j, col, acc[j]);
  }
};

struct two_d : block_tile<two_d> {
  static constexpr int threads = 256, M = 128, N = 128;
  __device__ void compute() {
    __shared__ float sa[8][128 + 4], sb[8][128];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16;
    float acc[8][8]{};
    for (int k0 = 0; k0 < p.k; k0 += 8) {
      for (int e = t; e < 1024; e += 256) sa[e % 8][e / 8] = a(e / 8, k0 + e % 8);
      for (int e = t; e < 1024; e += 256) sb[e / 128][e % 128] = b(k0 + e / 128, e % 128);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        float u[8], v[8];
#pragma unroll
        for (int j = 0; j < 8; ++j) u[j] = sa[i][ty + 16 * j], v[j] = sb[i][tx + 16 * j];
#pragma unroll
        for (int j = 0; j < 64; ++j) acc[j / 8][j % 8] += u[j / 8] * v[j % 8];
      }
      __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < 64; ++j) put(ty + 16 * (j / 8), tx + 16 * (j % 8), acc[j / 8][j % 8]);
  }
};

template <class T>
__global__ void __launch_bounds__(T::threads) of(problem p) {
  T t;
  t.p = p;
  const int across = up(p.n, T::N);
  t.r0 = blockIdx.x / across * T::M;
  t.q0 = blockIdx.x % across * T::N;
  t.run();
}

// ---- pipelined by libcu++'s pipeline, 4-byte copies; zero-filled outside
template <int M, int N, int K, int stages, class Map>
__global__ void __launch_bounds__(256) piped(problem p) {
  extern __shared__ float smem[];
  constexpr int PA = M + 4, SA = K * PA, SB = K * N;
  float* const sa = smem;
  float* const sb = smem + stages * SA;
  const int across = up(p.n, N), r0 = blockIdx.x / across * M, q0 = blockIdx.x % across * N, t = threadIdx.x;
  auto pipe = cuda::make_pipeline();
  const int tiles = up(p.k, K);
  const bool inside = r0 + M <= p.m && q0 + N <= p.n && p.k % K == 0 && p.n % 4 == 0;
  auto fetch = [&](int tile) {
    pipe.producer_acquire();
    if (tile < tiles) {
      float* ta = sa + tile % stages * SA;
      float* tb = sb + tile % stages * SB;
      const int k0 = tile * K;
      for (int e = t; e < M * K; e += 256) {
        const int r = e / K, i = e % K;
        const bool in = r0 + r < p.m && k0 + i < p.k;
        if (in) cuda::memcpy_async(ta + i * PA + r, p.a + (long)(r0 + r) * p.k + k0 + i, cuda::aligned_size_t<4>(4), pipe);
        else ta[i * PA + r] = 0;
      }
      if (inside) {
        for (int e = t * 4; e < N * K; e += 1024)
          cuda::memcpy_async(tb + e, p.b + (long)(k0 + e / N) * p.n + q0 + e % N, cuda::aligned_size_t<16>(16), pipe);
      } else {
        for (int e = t; e < N * K; e += 256) {
          const bool in = k0 + e / N < p.k && q0 + e % N < p.n;
          if (in) cuda::memcpy_async(tb + e, p.b + (long)(k0 + e / N) * p.n + q0 + e % N, cuda::aligned_size_t<4>(4), pipe);
          else tb[e] = 0;
        }
      }
    }
    pipe.producer_commit();
  };
  float acc[8][Map::cols]{};
  for (int s = 0; s < stages - 1; ++s) fetch(s);
  for (int tile = 0; tile < tiles; ++tile) {
    cuda::pipeline_consumer_wait_prior<stages - 2>(pipe);
    __syncthreads();
    fetch(tile + stages - 1);
    const float* ta = sa + tile % stages * SA;
    const float* tb = sb + tile % stages * SB;
#pragma unroll
    for (int i = 0; i < K; ++i) {
      float4 u[2], v[Map::cols / 4];
#pragma unroll
      for (int j = 0; j < 2; ++j) u[j] = *(const float4*)(ta + i * PA + Map::row(t, 4 * j));
#pragma unroll
      for (int j = 0; j < Map::cols / 4; ++j) v[j] = *(const float4*)(tb + i * N + Map::col(t, 4 * j));
      const float* uf = &u[0].x;
      const float* vf = &v[0].x;
#pragma unroll
      for (int r = 0; r < 8; ++r)
#pragma unroll
        for (int q = 0; q < Map::cols; ++q) acc[r][q] = fmaf(uf[r], vf[q], acc[r][q]);
    }
    pipe.consumer_release();
  }
#pragma unroll
  for (int r = 0; r < 8; ++r)
#pragma unroll
    for (int q = 0; q < Map::cols; ++q) {
      const int rr = r0 + Map::row(t, r), qq = q0 + Map::col(t, q);
      if (rr < p.m && qq < p.n) p.c[(long)rr * p.n + qq] = acc[r][q];
    }
}
struct flat_map {
  static constexpr int cols = 8;
  static __device__ int row(int t, int j) { return t / 16 * 4 + j / 4 * 64 + j % 4; }
  static __device__ int col(int t, int j) { return t % 16 * 4 + j / 4 * 64 + j % 4; }
};
struct warp_map {
  static constexpr int cols = 16;
  static __device__ int row(int t, int j) { return t / 32 % 4 * 32 + t % 32 / 8 * 4 + j / 4 * 16 + j % 4; }
  static __device__ int col(int t, int j) { return t / 128 * 128 + t % 8 * 4 + j / 4 * 32 + j % 4; }
};

template <int M, int N, int K, int stages, class Map>
void launch_piped(problem p, cudaStream_t s) {
  constexpr int bytes = stages * (K * (M + 4) + K * N) * 4;
  auto kernel = piped<M, N, K, stages, Map>;
  LAB_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<up(p.m, M) * up(p.n, N), 256, bytes, s>>>(p);
  LAB_CUDA_CHECK(cudaGetLastError());
}
template <class T>
void launch(problem p, cudaStream_t s) {
  of<T><<<up(p.m, T::M) * up(p.n, T::N), T::threads, 0, s>>>(p);
  LAB_CUDA_CHECK(cudaGetLastError());
}
}  // namespace

namespace lab06 {
void sgemm_coalesced(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) {
  coalesced<<<(unsigned)(((long)m * n + 255) / 256), 256, 0, s>>>({c, a, b, m, n, k});
}
void sgemm_tiled(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) {
  tiled<<<up(m, 32) * up(n, 32), 1024, 0, s>>>({c, a, b, m, n, k});
}
void sgemm_1d(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) { launch<one_d>({c, a, b, m, n, k}, s); }
void sgemm_2d(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) { launch<two_d>({c, a, b, m, n, k}, s); }
// float4 only by PTX-free __ldg on vectors; the same map as later
__global__ void __launch_bounds__(256) vec(problem p) {
  __shared__ float4 sa4[8 * 33], sb4[8 * 32];
  float* sa = reinterpret_cast<float*>(sa4);
  const int t = threadIdx.x, r0 = blockIdx.x / up(p.n, 128) * 128, q0 = blockIdx.x % up(p.n, 128) * 128;
  float acc[8][8]{};
  const bool wide = p.n % 4 == 0 && p.k % 4 == 0;
  auto load = [&](const float* row, int at, int end, bool ok) {
    float4 v{};
    if (!ok || at >= end) return v;
    if (wide) return __ldg(reinterpret_cast<const float4*>(row + at));
    v.x = row[at];
    if (at + 1 < end) v.y = row[at + 1];
    if (at + 2 < end) v.z = row[at + 2];
    if (at + 3 < end) v.w = row[at + 3];
    return v;
  };
  for (int k0 = 0; k0 < p.k; k0 += 8) {
    const float4 x = load(p.a + (long)(r0 + t / 2) * p.k, k0 + t % 2 * 4, p.k, r0 + t / 2 < p.m);
    const int base = t % 2 * 4, row = t / 2;
    sa[(base + 0) * 132 + row] = x.x, sa[(base + 1) * 132 + row] = x.y, sa[(base + 2) * 132 + row] = x.z, sa[(base + 3) * 132 + row] = x.w;
    sb4[t] = load(p.b + (long)(k0 + t / 32) * p.n, q0 + t % 32 * 4, p.n, k0 + t / 32 < p.k);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float4 u0 = sa4[i * 33 + t / 16], u1 = sa4[i * 33 + 16 + t / 16], v0 = sb4[i * 32 + t % 16], v1 = sb4[i * 32 + 16 + t % 16];
      const float u[8] = {u0.x, u0.y, u0.z, u0.w, u1.x, u1.y, u1.z, u1.w}, v[8] = {v0.x, v0.y, v0.z, v0.w, v1.x, v1.y, v1.z, v1.w};
#pragma unroll
      for (int r = 0; r < 8; ++r)
#pragma unroll
        for (int q = 0; q < 8; ++q) acc[r][q] += u[r] * v[q];
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 8; ++r)
    for (int h = 0; h < 2; ++h) {
      const int rr = r0 + flat_map::row(t, r), qq = q0 + flat_map::col(t, 4 * h);
      if (rr >= p.m) continue;
      if (wide && qq + 3 < p.n) *reinterpret_cast<float4*>(p.c + (long)rr * p.n + qq) = make_float4(acc[r][4 * h], acc[r][4 * h + 1], acc[r][4 * h + 2], acc[r][4 * h + 3]);
      else for (int j = 0; j < 4; ++j) if (qq + j < p.n) p.c[(long)rr * p.n + qq + j] = acc[r][4 * h + j];
    }
}
void sgemm_vectorized(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) { vec<<<up(m, 128) * up(n, 128), 256, 0, s>>>({c, a, b, m, n, k}); }
void sgemm_pipelined(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) { launch_piped<128, 128, 8, 2, flat_map>({c, a, b, m, n, k}, s); }
void sgemm_warptiled(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) { launch_piped<128, 256, 8, 2, warp_map>({c, a, b, m, n, k}, s); }
void sgemm(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) { launch_piped<128, 256, 16, 3, warp_map>({c, a, b, m, n, k}, s); }
}
