// The macros that many tutorials share.
#include <cuda_pipeline.h>
#include <stdio.h>
#include <stdlib.h>
#include "tiling.hpp"

#define OFFSET(row, col, ld) ((row) * (ld) + (col))
#define FETCH_FLOAT4(pointer) (reinterpret_cast<float4*>(&(pointer))[0])
#define FETCH_CONST4(pointer) (reinterpret_cast<const float4*>(&(pointer))[0])
#define checkCudaErrors(func)                                                                       \
  {                                                                                                 \
    cudaError_t e = (func);                                                                         \
    if (e != cudaSuccess) printf("%s %d CUDA: %s\n", __FILE__, __LINE__, cudaGetErrorString(e));    \
  }

__host__ __device__ static inline int divup(int a, int b) { return (a + b - 1) / b; }

__global__ void simple(float* c, const float* a, const float* b, int m, int n, int k) {
  // x is limited to 2^31, y to 65535: rows go along x
  const int row = blockIdx.x, col = blockIdx.y * blockDim.x + threadIdx.x;
  if (col >= n) return;
  float tmp = 0.0f;
  for (int i = 0; i < k; ++i) tmp += a[OFFSET(row, i, k)] * b[OFFSET(i, col, n)];
  c[OFFSET(row, col, n)] = tmp;
}
__global__ void simple_loop(float* c, const float* a, const float* b, int m, int n, int k) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (long long)m * n; i += (long long)gridDim.x * blockDim.x) {
    const int row = i / n, col = i % n;
    float tmp = 0.0f;
    for (int p = 0; p < k; ++p) tmp += a[OFFSET(row, p, k)] * b[OFFSET(p, col, n)];
    c[i] = tmp;
  }
}

__global__ void tiled(float* c, const float* a, const float* b, int m, int n, int k) {
  __shared__ float As[32][32], Bs[32][32];
  const int across = divup(n, 32), tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.x / across * 32 + ty, col = blockIdx.x % across * 32 + tx;
  float acc = 0;
  for (int ph = 0; ph < divup(k, 32); ++ph) {
    As[ty][tx] = (row < m && ph * 32 + tx < k) ? a[OFFSET(row, ph * 32 + tx, k)] : 0.0f;
    Bs[ty][tx] = (ph * 32 + ty < k && col < n) ? b[OFFSET(ph * 32 + ty, col, n)] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; ++i) acc += As[ty][i] * Bs[i][tx];
    __syncthreads();
  }
  if (row < m && col < n) c[OFFSET(row, col, n)] = acc;
}

template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void blocktiled(float* c, const float* a, const float* b, int m, int n, int k) {
  constexpr int THREADS = BM * BN / (TM * TN);
  __shared__ float As[BK][BM + 1];
  __shared__ float Bs[BK][BN];
  const int across = divup(n, BN);
  const int cRow = blockIdx.x / across * BM, cCol = blockIdx.x % across * BN;
  const int tCol = threadIdx.x % (BN / TN), tRow = threadIdx.x / (BN / TN);
  float threadResults[TM][TN] = {{0.0f}};
  float regM[TM], regN[TN];
  for (int bk = 0; bk < k; bk += BK) {
#pragma unroll
    for (int i = threadIdx.x; i < BM * BK; i += THREADS) {
      const int r = cRow + i / BK, p = bk + i % BK;
      As[i % BK][i / BK] = r < m && p < k ? a[OFFSET(r, p, k)] : 0.0f;
    }
#pragma unroll
    for (int i = threadIdx.x; i < BK * BN; i += THREADS) {
      const int p = bk + i / BN, q = cCol + i % BN;
      Bs[i / BN][i % BN] = p < k && q < n ? b[OFFSET(p, q, n)] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < BK; ++d) {
      for (int i = 0; i < TM; ++i) regM[i] = As[d][tRow * TM + i];
      for (int j = 0; j < TN; ++j) regN[j] = Bs[d][tCol + j * (BN / TN)];
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) threadResults[i][j] += regM[i] * regN[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) {
      const int r = cRow + tRow * TM + i, q = cCol + tCol + j * (BN / TN);
      if (r < m && q < n) c[OFFSET(r, q, n)] = threadResults[i][j];
    }
}

// n and k multiples of 4; prefetches the next tile into registers, double buffer in shared memory, one barrier per tile
template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void __launch_bounds__(BM* BN / (TM * TN)) v2(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b, int m, int n, int k) {
  constexpr int THREADS = BM * BN / (TM * TN);
  constexpr int LA = BM * BK / 4 / THREADS, LB = BK * BN / 4 / THREADS;
  __shared__ __align__(16) float As[2][BK][BM + 4];
  __shared__ __align__(16) float Bs[2][BK][BN];
  const int across = divup(n, BN), tid = threadIdx.x;
  const int by = blockIdx.x / across * BM, bx = blockIdx.x % across * BN;
  const int tx = tid % (BN / TN), ty = tid / (BN / TN);
  const float4 zero = make_float4(0, 0, 0, 0);
  float4 ra[LA], rb[LB];
  float acc[TM][TN] = {};
  auto load = [&](int k0) {
#pragma unroll
    for (int l = 0; l < LA; ++l) {
      const int i = tid + l * THREADS, r = by + i / (BK / 4), p = k0 + i % (BK / 4) * 4;
      ra[l] = r < m && p < k ? FETCH_CONST4(a[OFFSET(r, p, k)]) : zero;
    }
#pragma unroll
    for (int l = 0; l < LB; ++l) {
      const int i = tid + l * THREADS, p = k0 + i / (BN / 4), q = bx + i % (BN / 4) * 4;
      rb[l] = p < k && q < n ? FETCH_CONST4(b[OFFSET(p, q, n)]) : zero;
    }
  };
  auto keep = [&](int s) {
#pragma unroll
    for (int l = 0; l < LA; ++l) {
      const int i = tid + l * THREADS, r = i / (BK / 4), p = i % (BK / 4) * 4;
      As[s][p][r] = ra[l].x, As[s][p + 1][r] = ra[l].y, As[s][p + 2][r] = ra[l].z, As[s][p + 3][r] = ra[l].w;
    }
#pragma unroll
    for (int l = 0; l < LB; ++l) {
      const int i = tid + l * THREADS;
      FETCH_FLOAT4(Bs[s][i / (BN / 4)][i % (BN / 4) * 4]) = rb[l];
    }
  };
  load(0);
  keep(0);
  __syncthreads();
  for (int k0 = 0, s = 0; k0 < k; k0 += BK, s ^= 1) {
    if (k0 + BK < k) load(k0 + BK);
#pragma unroll
    for (int d = 0; d < BK; ++d) {
      float rm[TM], rn[TN];
#pragma unroll
      for (int i = 0; i < TM; i += 4) FETCH_FLOAT4(rm[i]) = FETCH_FLOAT4(As[s][d][i / 4 * (BM / (TM / 4)) + ty * 4]);
#pragma unroll
      for (int j = 0; j < TN; j += 4) FETCH_FLOAT4(rn[j]) = FETCH_FLOAT4(Bs[s][d][j / 4 * (BN / (TN / 4)) + tx * 4]);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] = fmaf(rm[i], rn[j], acc[i][j]);
    }
    if (k0 + BK < k) keep(s ^ 1);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      const int r = by + i / 4 * (BM / (TM / 4)) + ty * 4 + i % 4, q = bx + j / 4 * (BN / (TN / 4)) + tx * 4;
      if (r < m && q < n) FETCH_FLOAT4(c[OFFSET(r, q, n)]) = FETCH_FLOAT4(acc[i][j]);
    }
}

#define ARGS float *c, const float *a, const float *b, int m, int n, int k, cudaStream_t stream
void lab06::sgemm_coalesced(ARGS) {
  if (divup(n, 256) < 65536 && n >= 256) simple<<<dim3(m, divup(n, 256)), 256, 0, stream>>>(c, a, b, m, n, k);
  else simple_loop<<<1024, 256, 0, stream>>>(c, a, b, m, n, k);
  checkCudaErrors(cudaGetLastError());
}
void lab06::sgemm_tiled(ARGS) {
  tiled<<<divup(n, 32) * divup(m, 32), dim3(32, 32), 0, stream>>>(c, a, b, m, n, k);
  checkCudaErrors(cudaGetLastError());
}
void lab06::sgemm_1d(ARGS) {
  blocktiled<64, 64, 8, 8, 1><<<divup(n, 64) * divup(m, 64), 512, 0, stream>>>(c, a, b, m, n, k);
  checkCudaErrors(cudaGetLastError());
}
void lab06::sgemm_2d(ARGS) {
  blocktiled<128, 128, 8, 8, 8><<<divup(n, 128) * divup(m, 128), 256, 0, stream>>>(c, a, b, m, n, k);
  checkCudaErrors(cudaGetLastError());
}
void lab06::sgemm_vectorized(ARGS) {
  if (n % 4 || k % 4) return sgemm_2d(c, a, b, m, n, k, stream);
  v2<128, 128, 8, 8, 8><<<divup(n, 128) * divup(m, 128), 256, 0, stream>>>(c, a, b, m, n, k);
  checkCudaErrors(cudaGetLastError());
}

// 4-byte asynchronous copies turn A on the way; rows of B come 16 bytes at a time where they are aligned
template <const int BM, const int BN, const int BK, const int WM, const int WN, const int TM, const int TN, const int STAGES>
__global__ void __launch_bounds__(BM* BN / (TM * TN)) v3(float* c, const float* a, const float* b, int m, int n, int k, bool wide) {
  constexpr int THREADS = BM * BN / (TM * TN), LANES_X = WN / TN;
  extern __shared__ __align__(16) float smem[];
  typedef float a_tile[BK][BM + 4];
  typedef float b_tile[BK][BN];
  a_tile* As = reinterpret_cast<a_tile*>(smem);
  b_tile* Bs = reinterpret_cast<b_tile*>(smem + STAGES * BK * (BM + 4));
  const int across = divup(n, BN), tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  const int by = blockIdx.x / across * BM, bx = blockIdx.x % across * BN;
  const int wy = warp / (BN / WN) * WM, wx = warp % (BN / WN) * WN, ty = lane / LANES_X, tx = lane % LANES_X;
  float acc[TM][TN] = {};
  auto copy = [&](int k0, int s) {
    for (int i = tid; i < BM * BK; i += THREADS) {
      const int r = by + i / BK, p = k0 + i % BK;
      const bool in = r < m && p < k;
      __pipeline_memcpy_async(&As[s][i % BK][i / BK], in ? a + OFFSET(r, p, k) : a, 4, in ? 0 : 4);
    }
    if (wide)
      for (int i = tid; i < BK * BN / 4; i += THREADS) {
        const int p = k0 + i / (BN / 4), q = bx + i % (BN / 4) * 4;
        const bool in = p < k && q < n;
        __pipeline_memcpy_async(&Bs[s][i / (BN / 4)][i % (BN / 4) * 4], in ? b + OFFSET(p, q, n) : b, 16, in ? 0 : 16);
      }
    else
      for (int i = tid; i < BK * BN; i += THREADS) {
        const int p = k0 + i / BN, q = bx + i % BN;
        const bool in = p < k && q < n;
        __pipeline_memcpy_async(&Bs[s][i / BN][i % BN], in ? b + OFFSET(p, q, n) : b, 4, in ? 0 : 4);
      }
  };
#pragma unroll
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s * BK < k) copy(s * BK, s);
    __pipeline_commit();
  }
  for (int t = 0; t * BK < k; ++t) {
    __pipeline_wait_prior(STAGES - 2);
    __syncthreads();
    if ((t + STAGES - 1) * BK < k) copy((t + STAGES - 1) * BK, (t + STAGES - 1) % STAGES);
    __pipeline_commit();
    const int s = t % STAGES;
#pragma unroll
    for (int d = 0; d < BK; ++d) {
      float rm[TM], rn[TN];
#pragma unroll
      for (int i = 0; i < TM; i += 4) FETCH_FLOAT4(rm[i]) = FETCH_FLOAT4(As[s][d][wy + i / 4 * (WM / (TM / 4)) + ty * 4]);
#pragma unroll
      for (int j = 0; j < TN; j += 4) FETCH_FLOAT4(rn[j]) = FETCH_FLOAT4(Bs[s][d][wx + j / 4 * (WN / (TN / 4)) + tx * 4]);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += rm[i] * rn[j];
    }
  }
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) {
      const int r = by + wy + i / 4 * (WM / (TM / 4)) + ty * 4 + i % 4, q = bx + wx + j / 4 * (WN / (TN / 4)) + tx * 4 + j % 4;
      if (r < m && q < n) c[OFFSET(r, q, n)] = acc[i][j];
    }
}
template <const int BM, const int BN, const int BK, const int WM, const int WN, const int TM, const int TN, const int STAGES>
static void launch_v3(ARGS) {
  constexpr int bytes = STAGES * BK * (BM + 4 + BN) * sizeof(float);
  auto* kernel = &v3<BM, BN, BK, WM, WN, TM, TN, STAGES>;
  static bool configured = false;
  if (!configured) {
    checkCudaErrors(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    configured = true;
  }
  kernel<<<divup(n, BN) * divup(m, BM), BM * BN / (TM * TN), bytes, stream>>>(c, a, b, m, n, k, n % 4 == 0);
  checkCudaErrors(cudaGetLastError());
}
void lab06::sgemm_pipelined(ARGS) { launch_v3<128, 128, 8, 64, 32, 8, 8, 2>(c, a, b, m, n, k, stream); }
void lab06::sgemm_warptiled(ARGS) { launch_v3<128, 256, 8, 32, 128, 8, 16, 2>(c, a, b, m, n, k, stream); }
void lab06::sgemm(ARGS) { launch_v3<128, 256, 16, 32, 128, 8, 16, 3>(c, a, b, m, n, k, stream); }
