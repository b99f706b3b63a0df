// Inline PTX of one's own: ldmatrix, mma.sync, cp.async with zero fill, prefetch; wmma with casts to uint4.
#include <cuda_bf16.h>
#include <mma.h>
#include <lab/device.hpp>
#include "low_precision.hpp"

namespace lab09 {
namespace {
namespace wm = nvcuda::wmma;
#define DEVICE __device__ __forceinline__
DEVICE unsigned smem(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
DEVICE void cp16(void* to, const void* from, bool in) {
  const int bytes = in ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(smem(to)), "l"(from), "r"(bytes) : "memory");
}
#define COMMIT() asm volatile("cp.async.commit_group;\n" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;\n" ::"n"(n) : "memory")
DEVICE void ldsm4(unsigned* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(smem(p)));
}
DEVICE void ldsm4t(unsigned* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(smem(p)));
}
DEVICE void mma16816(float* d, const unsigned* a, const unsigned* b) {
  asm volatile(
      "{\n"
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      "}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE int swizzled(int row, int chunk) { return chunk ^ (row >> 1 & 3); }   // 4 chunks of 8 in a row of 32

__global__ void __launch_bounds__(128) wmma_kernel(bf16* c, const bf16* a, const bf16* b, int m, int n, int k) {
  __shared__ __align__(32) bf16 As[64][40], Bs[32][72];
  __shared__ __align__(32) float Cs[64][68];
  const int across = (n + 63) / 64, by = blockIdx.x / across * 64, bx = blockIdx.x % across * 64;
  const int warp = threadIdx.x / 32, wy = warp / 2 * 32, wx = warp % 2 * 32;
  wm::fragment<wm::accumulator, 16, 16, 16, float> acc[2][2];
  for (auto& row : acc) for (auto& f : row) wm::fill_fragment(f, 0.f);
  const uint4 nothing = {0, 0, 0, 0};
  for (int k0 = 0; k0 < k; k0 += 32) {
    for (int i = threadIdx.x; i < 256; i += 128) {
      const int r = i / 4, x = i % 4 * 8;
      *(uint4*)&As[r][x] = by + r < m && k0 + x < k ? *(const uint4*)(a + (size_t)(by + r) * k + k0 + x) : nothing;
      const int p = i / 8, y = i % 8 * 8;
      *(uint4*)&Bs[p][y] = k0 + p < k && bx + y < n ? *(const uint4*)(b + (size_t)(k0 + p) * n + bx + y) : nothing;
    }
    __syncthreads();
    for (int kk = 0; kk < 32; kk += 16) {
      wm::fragment<wm::matrix_a, 16, 16, 16, bf16, wm::row_major> fa[2];
      wm::fragment<wm::matrix_b, 16, 16, 16, bf16, wm::row_major> fb[2];
      for (int i = 0; i < 2; ++i) wm::load_matrix_sync(fa[i], &As[wy + 16 * i][kk], 40);
      for (int j = 0; j < 2; ++j) wm::load_matrix_sync(fb[j], &Bs[kk][wx + 16 * j], 72);
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) wm::mma_sync(acc[i][j], fa[i], fb[j], acc[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) wm::store_matrix_sync(&Cs[wy + 16 * i][wx + 16 * j], acc[i][j], 68, wm::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < 64 * 8; i += 128) {
    const int r = i / 8, x = i % 8 * 8;
    if (by + r >= m || bx + x >= n) continue;
    union { uint4 all; __nv_bfloat162 pair[4]; } out;
    for (int j = 0; j < 4; ++j) out.pair[j] = __float22bfloat162_rn(*reinterpret_cast<float2*>(&Cs[r][x + 2 * j]));
    *(uint4*)(c + (size_t)(by + r) * n + bx + x) = out.all;
  }
}

template <int STAGES, bool ASYNC>
__global__ void __launch_bounds__(256) mma_kernel(bf16* __restrict__ c, const bf16* __restrict__ a, const bf16* __restrict__ b, int m, int n, int k) {
  extern __shared__ __align__(128) unsigned char raw[];
  bf16(*As)[128][32] = reinterpret_cast<bf16(*)[128][32]>(raw);
  bf16(*Bs)[32][128] = reinterpret_cast<bf16(*)[32][128]>(raw + STAGES * sizeof(bf16[128][32]));
  const int across = (n + 127) / 128, by = blockIdx.x / across * 128, bx = blockIdx.x % across * 128;
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, wy = warp / 4 * 64, wx = warp % 4 * 32;
  float acc[4][4][4] = {};
  auto fetch = [&](int t, int s) {
#pragma unroll
    for (int i = tid; i < 512; i += 256) {
      const int r = i / 4, x = i % 4, p = i / 16, y = i % 16;
      const bool ia = by + r < m && t * 32 + 8 * x < k, ib = t * 32 + p < k && bx + 8 * y < n;
      void *ta = &As[s][r][8 * swizzled(r, x)], *tb = &Bs[s][p][8 * (y ^ (p & 7))];
      const bf16 *fa = ia ? a + (size_t)(by + r) * k + t * 32 + 8 * x : a, *fb = ib ? b + (size_t)(t * 32 + p) * n + bx + 8 * y : b;
      if constexpr (ASYNC) {
        cp16(ta, fa, ia), cp16(tb, fb, ib);
      } else {
        *(int4*)ta = ia ? __ldg((const int4*)fa) : int4{};
        *(int4*)tb = ib ? __ldg((const int4*)fb) : int4{};
      }
    }
  };
  auto multiply = [&](int s) {
#pragma unroll
    for (int kk = 0; kk < 2; ++kk) {
      unsigned fa[4][4], fb[4][2];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int r = wy + 16 * i + lane % 16, x = 2 * kk + lane / 16;
        ldsm4(fa[i], &As[s][r][8 * swizzled(r, x)]);
      }
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int p = 16 * kk + lane % 16, y = (wx + 16 * j) / 8 + lane / 16;
        unsigned r[4];
        ldsm4t(r, &Bs[s][p][8 * (y ^ (p & 7))]);
        fb[2 * j][0] = r[0], fb[2 * j][1] = r[1], fb[2 * j + 1][0] = r[2], fb[2 * j + 1][1] = r[3];
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) mma16816(acc[i][j], fa[i], fb[j]);
    }
  };
  const int tiles = (k + 31) / 32;
  if constexpr (ASYNC) {
    for (int s = 0; s < STAGES - 1; ++s) {
      if (s < tiles) fetch(s, s);
      COMMIT();
    }
    for (int t = 0; t < tiles; ++t) {
      WAIT(STAGES - 2);
      __syncthreads();
      if (t + STAGES - 1 < tiles) fetch(t + STAGES - 1, (t + STAGES - 1) % STAGES);
      COMMIT();
      multiply(t % STAGES);
    }
  } else {
    for (int t = 0; t < tiles; ++t) {
      fetch(t, 0);
      __syncthreads();
      multiply(0);
      __syncthreads();
    }
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      for (int h = 0; h < 2; ++h) {
        const int r = by + wy + 16 * i + lane / 4 + 8 * h, q = bx + wx + 8 * j + lane % 4 * 2;
        if (r < m && q < n) *(__nv_bfloat162*)(c + (size_t)r * n + q) = __floats2bfloat162_rn(acc[i][j][2 * h], acc[i][j][2 * h + 1]);
      }
}
template <int STAGES, bool ASYNC>
void launch(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  constexpr int bytes = STAGES * 2 * 128 * 32 * sizeof(bf16);
  LAB_CUDA_CHECK(cudaFuncSetAttribute((mma_kernel<STAGES, ASYNC>), cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  mma_kernel<STAGES, ASYNC><<<(n + 127) / 128 * ((m + 127) / 128), 256, bytes, stream>>>(c, a, b, m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}
}  // namespace
void gemm_wmma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t s) {
  wmma_kernel<<<(n + 63) / 64 * ((m + 63) / 64), 128, 0, s>>>(c, a, b, m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}
void gemm_mma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t s) { launch<1, false>(c, a, b, m, n, k, s); }
void gemm_pipelined(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t s) { launch<4, true>(c, a, b, m, n, k, s); }
}  // namespace lab09
