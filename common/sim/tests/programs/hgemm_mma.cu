// C = A B in half precision on the tensor cores, by inline PTX: three stages of cp.async, swizzled tiles, ldmatrix,
// mma.sync. Tiles of 64 x 64, four warps with 32 x 32 each, 32 of K per step.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                          \
  do {                                                                       \
    const cudaError_t status = (call);                                       \
    if (status != cudaSuccess) {                                             \
      printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

#define CP_ASYNC(to, from) \
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;\n" ::"r"(to), "l"(from), "n"(16) : "memory")
#define CP_ASYNC_COMMIT() asm volatile("cp.async.commit_group;\n" ::: "memory")
#define CP_ASYNC_WAIT(n) asm volatile("cp.async.wait_group %0;\n" ::"n"(n) : "memory")

constexpr int BM = 64, BN = 64, BK = 32, STAGES = 3, THREADS = 128;

// A row of A's tile has 4 pieces of 16 bytes, a row of B's 8. Rows that one ldmatrix reads lie in different banks.
__device__ __forceinline__ int place_in_a(int row, int piece) { return row * BK + (piece ^ (row >> 1 & 3)) * 8; }
__device__ __forceinline__ int place_in_b(int row, int piece) { return row * BN + (piece ^ (row & 7)) * 8; }

__device__ __forceinline__ void ldmatrix_x4(uint32_t (&r)[4], const half* from) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(from));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&r)[4], const half* from) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(from));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void mma_m16n8k16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, "
      "{%8, %9}, "
      "{%0, %1, %2, %3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__global__ void __launch_bounds__(THREADS) hgemm(int N, int K, const half* A, const half* B, half* C) {
  extern __shared__ __align__(128) half tiles[];
  half *as = tiles, *bs = tiles + STAGES * BM * BK;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;

  const auto fetch = [&](int step) {
    half *a = as + step % STAGES * BM * BK, *b = bs + step % STAGES * BK * BN;
    for (int i = threadIdx.x; i < BM * BK / 8; i += THREADS) {
      const int row = i / (BK / 8), piece = i % (BK / 8);
      const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(a + place_in_a(row, piece)));
      CP_ASYNC(to, A + (row0 + row) * K + step * BK + piece * 8);
    }
    for (int i = threadIdx.x; i < BK * BN / 8; i += THREADS) {
      const int row = i / (BN / 8), piece = i % (BN / 8);
      const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(b + place_in_b(row, piece)));
      CP_ASYNC(to, B + (step * BK + row) * N + col0 + piece * 8);
    }
  };

  const int steps = K / BK;
  for (int s = 0; s < STAGES - 1; ++s) {
    if (s < steps) fetch(s);
    CP_ASYNC_COMMIT();
  }
  float sums[2][4][4] = {};
  const int warp_row = warp / 2 * 32, warp_col = warp % 2 * 32;
  for (int step = 0; step < steps; ++step) {
    CP_ASYNC_WAIT(STAGES - 2);
    __syncthreads();
    if (step + STAGES - 1 < steps) fetch(step + STAGES - 1);
    CP_ASYNC_COMMIT();
    const half *a = as + step % STAGES * BM * BK, *b = bs + step % STAGES * BK * BN;
    for (int k = 0; k < BK; k += 16) {
      uint32_t fa[2][4], fb[2][4];
      for (int i = 0; i < 2; ++i) ldmatrix_x4(fa[i], a + place_in_a(warp_row + i * 16 + lane % 16, k / 8 + lane / 16));
      for (int j = 0; j < 2; ++j)
        ldmatrix_x4_trans(fb[j], b + place_in_b(k + lane % 16, warp_col / 8 + j * 2 + lane / 16));
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) mma_m16n8k16(sums[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
    }
  }
  CP_ASYNC_WAIT(0);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int half_of = 0; half_of < 2; ++half_of) {
        const int row = row0 + warp_row + i * 16 + half_of * 8 + lane / 4, col = col0 + warp_col + j * 8 + lane % 4 * 2;
        *reinterpret_cast<half2*>(C + row * N + col) =
            __floats2half2_rn(sums[i][j][2 * half_of], sums[i][j][2 * half_of + 1]);
      }
}

int main() {
  const int M = 128, N = 192, K = 160;
  std::vector<half> a(M * K), b(K * N), c(M * N);
  for (int i = 0; i < M * K; ++i) a[i] = __float2half(static_cast<float>((i * 7 + i / K) % 11 - 5) / 8);
  for (int i = 0; i < K * N; ++i) b[i] = __float2half(static_cast<float>((i * 5 + i / N) % 13 - 6) / 8);
  half *da, *db, *dc;
  CHECK(cudaMalloc(&da, a.size() * sizeof(half)));
  CHECK(cudaMalloc(&db, b.size() * sizeof(half)));
  CHECK(cudaMalloc(&dc, c.size() * sizeof(half)));
  CHECK(cudaMemcpy(da, a.data(), a.size() * sizeof(half), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), b.size() * sizeof(half), cudaMemcpyHostToDevice));
  const int shared_bytes = STAGES * (BM * BK + BK * BN) * static_cast<int>(sizeof(half));
  CHECK(cudaFuncSetAttribute(hgemm, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  hgemm<<<dim3(N / BN, M / BM), THREADS, shared_bytes>>>(N, K, da, db, dc);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(c.data(), dc, c.size() * sizeof(half), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      double sum = 0;
      for (int k = 0; k < K; ++k)
        sum += static_cast<double>(__half2float(a[i * K + k])) * static_cast<double>(__half2float(b[k * N + j]));
      wrong += std::fabs(__half2float(c[i * N + j]) - sum) > 1e-3 * std::fabs(sum) + 1e-3;
    }
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(dc));
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
