// One kernel template for every rung from the tiles on: BM x BN x BK tiles, TM x TN a thread.
#include "tiling.hpp"
#include <cuda_pipeline.h>
#include <cstdint>
namespace lab06 {
namespace {
struct problem { float* c; const float* a; const float* b; int m, n, k; };
constexpr int up(int x, int y) { return (x + y - 1) / y; }

__global__ void plain(problem p, bool along) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  const int row = along ? j : i, col = along ? i : j;
  if (row >= p.m || col >= p.n) return;
  float s = 0;
  for (int q = 0; q < p.k; ++q) s = fmaf(p.a[row * p.k + q], p.b[q * p.n + col], s);
  p.c[row * p.n + col] = s;
}

template <int BM, int BN, int BK, int TM, int TN>
__global__ void tiles(problem p) {
  constexpr int threads = BM / TM * (BN / TN);
  __shared__ float as[BM][BK], bs[BK][BN];
  const int r0 = blockIdx.y * BM, c0 = blockIdx.x * BN, t = threadIdx.x;
  const int tr = t / (BN / TN) * TM, tc = t % (BN / TN) * TN;
  float s[TM][TN] = {};
  for (int q = 0; q < p.k; q += BK) {
#pragma unroll
    for (int e = t; e < BM * BK; e += threads) {
      const int r = e / BK, c = e % BK;
      as[r][c] = r0 + r < p.m && q + c < p.k ? p.a[(r0 + r) * p.k + q + c] : 0.0f;
    }
#pragma unroll
    for (int e = t; e < BK * BN; e += threads) {
      const int r = e / BN, c = e % BN;
      bs[r][c] = q + r < p.k && c0 + c < p.n ? p.b[(q + r) * p.n + c0 + c] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < BK; ++i) {
      float x[TM], y[TN];
#pragma unroll
      for (int j = 0; j < TM; ++j) x[j] = as[tr + j][i];
#pragma unroll
      for (int j = 0; j < TN; ++j) y[j] = bs[i][tc + j];
#pragma unroll
      for (int j = 0; j < TM; ++j)
#pragma unroll
        for (int l = 0; l < TN; ++l) s[j][l] = fmaf(x[j], y[l], s[j][l]);
    }
    __syncthreads();
  }
  for (int j = 0; j < TM; ++j)
    for (int l = 0; l < TN; ++l)
      if (r0 + tr + j < p.m && c0 + tc + l < p.n) p.c[(r0 + tr + j) * p.n + c0 + tc + l] = s[j][l];
}

// double buffered, cp.async 4 bytes, A transposed in shared memory, lanes arranged in warp tiles, float4 reads
template <int BM, int BN, int BK, int TM, int TN, int WM, int WN, int LR, int LC>
__global__ void __launch_bounds__(BM / TM * (BN / TN)) pipelined(problem p) {
  constexpr int threads = BM / TM * (BN / TN);
  constexpr int AP = BM + 4;
  extern __shared__ __align__(16) float smem[];
  float* as = smem;                    // [2][BK][AP]
  float* bs = smem + 2 * BK * AP;      // [2][BK][BN]
  const int r0 = blockIdx.y * BM, c0 = blockIdx.x * BN, t = threadIdx.x;
  const int warp = t / 32, lane = t % 32;
  const int wr = warp / (BN / WN) * WM, wc = warp % (BN / WN) * WN;
  const int lr = lane / LC, lc = lane % LC;
  const auto fetch = [&](int buffer, int q) {
    for (int e = t; e < BM * BK; e += threads) {
      const int r = e / BK, c = e % BK;
      const bool in = r0 + r < p.m && q + c < p.k;
      __pipeline_memcpy_async(as + (buffer * BK + c) * AP + r, in ? p.a + (r0 + r) * p.k + q + c : p.a, 4, in ? 0 : 4);
    }
    const bool whole = p.n % 4 == 0;
    for (int e = t; e < BK * BN / 4; e += threads) {
      const int r = e / (BN / 4), c = e % (BN / 4) * 4;
      float* to = bs + (buffer * BK + r) * BN + c;
      if (whole) {
        const bool in = q + r < p.k && c0 + c < p.n;
        __pipeline_memcpy_async(to, in ? p.b + (q + r) * p.n + c0 + c : p.b, 16, in ? 0 : 16);
      } else
        for (int j = 0; j < 4; ++j) {
          const bool in = q + r < p.k && c0 + c + j < p.n;
          __pipeline_memcpy_async(to + j, in ? p.b + (q + r) * p.n + c0 + c + j : p.b, 4, in ? 0 : 4);
        }
    }
    __pipeline_commit();
  };
  float s[TM][TN] = {};
  fetch(0, 0);
  int buffer = 0;
  for (int q = 0; q < p.k; q += BK, buffer ^= 1) {
    __pipeline_wait_prior(0);
    __syncthreads();
    if (q + BK < p.k) fetch(buffer ^ 1, q + BK);
#pragma unroll
    for (int i = 0; i < BK; ++i) {
      float x[TM], y[TN];
#pragma unroll
      for (int j = 0; j < TM; j += 4)
        *reinterpret_cast<float4*>(x + j) = *reinterpret_cast<const float4*>(as + (buffer * BK + i) * AP + wr + lr * 4 + j / 4 * (LR * 4));
#pragma unroll
      for (int j = 0; j < TN; j += 4)
        *reinterpret_cast<float4*>(y + j) = *reinterpret_cast<const float4*>(bs + (buffer * BK + i) * BN + wc + lc * 4 + j / 4 * (LC * 4));
#pragma unroll
      for (int j = 0; j < TM; ++j)
#pragma unroll
        for (int l = 0; l < TN; ++l) s[j][l] = fmaf(x[j], y[l], s[j][l]);
    }
  }
  for (int j = 0; j < TM; ++j) {
    const int r = r0 + wr + lr * 4 + j / 4 * (LR * 4) + j % 4;
    if (r >= p.m) continue;
    for (int l = 0; l < TN; l += 4) {
      const int c = c0 + wc + lc * 4 + l / 4 * (LC * 4);
      if (p.n % 4 == 0) {
        if (c < p.n) *reinterpret_cast<float4*>(p.c + r * p.n + c) = *reinterpret_cast<const float4*>(&s[j][l]);
      } else
        for (int e = 0; e < 4; ++e)
          if (c + e < p.n) p.c[r * p.n + c + e] = s[j][l + e];
    }
  }
}
template <int BM, int BN, int BK, int TM, int TN>
void run(problem p, cudaStream_t stream) {
  tiles<BM, BN, BK, TM, TN><<<dim3(up(p.n, BN), up(p.m, BM)), BM / TM * (BN / TN), 0, stream>>>(p);
}
template <int BM, int BN, int BK, int TM, int TN, int WM, int WN, int LR, int LC>
void run_pipelined(problem p, cudaStream_t stream) {
  auto kernel = pipelined<BM, BN, BK, TM, TN, WM, WN, LR, LC>;
  constexpr int bytes = 2 * BK * (BM + 4 + BN) * sizeof(float);
  static const auto once = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  (void)once;
  kernel<<<dim3(up(p.n, BN), up(p.m, BM)), BM / TM * (BN / TN), bytes, stream>>>(p);
}
}  // namespace
void sgemm_naive(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) {
  plain<<<dim3(up(m, 32), up(n, 8)), dim3(32, 8), 0, s>>>({c, a, b, m, n, k}, false);
}
void sgemm_coalesced(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) {
  plain<<<dim3(up(n, 32), up(m, 8)), dim3(32, 8), 0, s>>>({c, a, b, m, n, k}, true);
}
void sgemm_tiled(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) { run<32, 32, 32, 1, 1>({c, a, b, m, n, k}, s); }
void sgemm_1d(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) { run<64, 64, 8, 8, 1>({c, a, b, m, n, k}, s); }
void sgemm_2d(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) { run<128, 128, 8, 8, 8>({c, a, b, m, n, k}, s); }
void sgemm_vectorized(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) {
  run_pipelined<128, 128, 8, 8, 8, 32, 64, 4, 8>({c, a, b, m, n, k}, s);
}
void sgemm_pipelined(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) {
  run_pipelined<128, 128, 8, 8, 8, 32, 64, 4, 8>({c, a, b, m, n, k}, s);
}
void sgemm_warptiled(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) {
  run_pipelined<128, 256, 8, 8, 16, 32, 128, 4, 8>({c, a, b, m, n, k}, s);
}
void sgemm(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) {
  run_pipelined<128, 256, 16, 8, 16, 32, 128, 4, 8>({c, a, b, m, n, k}, s);
}
}  // namespace lab06
