#include <mma.h>
#include <lab/device.hpp>
#include "low_precision.hpp"

using namespace nvcuda;
using lab09::bf16;

// one template serves all three: WR x WC warps, each 16 x 16 elements of C
template <int WR, int WC>
__global__ void product(bf16* c, const bf16* a, const bf16* b, int m, int n, int k) {
  constexpr int R = 16 * WR, C = 16 * WC, T = 32 * WR * WC;
  __shared__ alignas(32) bf16 as[R * 16];
  __shared__ alignas(32) bf16 bs[16 * C];
  __shared__ alignas(32) float cs[R * C];
  const int t = threadIdx.x, w = t >> 5, wr = w / WC, wc = w % WC;
  const int r0 = blockIdx.y * R, c0 = blockIdx.x * C;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.f);
  const bf16 zero = __float2bfloat16(0.f);
  for (int k0 = 0; k0 < k; k0 += 16) {
    for (int i = t; i < R * 16; i += T) {
      const int r = r0 + i / 16, q = k0 + i % 16;
      as[i] = r < m && q < k ? a[size_t(r) * k + q] : zero;
    }
    for (int i = t; i < 16 * C; i += T) {
      const int r = k0 + i / C, q = c0 + i % C;
      bs[i] = r < k && q < n ? b[size_t(r) * n + q] : zero;
    }
    __syncthreads();
    wmma::load_matrix_sync(fa, as + wr * 16 * 16, 16);
    wmma::load_matrix_sync(fb, bs + wc * 16, C);
    wmma::mma_sync(fc, fa, fb, fc);
    __syncthreads();
  }
  wmma::store_matrix_sync(cs + wr * 16 * C + wc * 16, fc, C, wmma::mem_row_major);
  __syncthreads();
  for (int i = t; i < R * C; i += T) {
    const int r = r0 + i / C, q = c0 + i % C;
    if (r < m && q < n) c[size_t(r) * n + q] = __float2bfloat16_rn(cs[i]);
  }
}

template <int WR, int WC>
static void launch(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t s) {
  const dim3 grid((n + 16 * WC - 1) / (16 * WC), (m + 16 * WR - 1) / (16 * WR)), block(32 * WR * WC);
  void* args[] = {&c, &a, &b, &m, &n, &k};
  LAB_CUDA_CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(product<WR, WC>), grid, block, args, 0, s));
}

namespace lab09 {
void gemm_wmma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) { launch<2, 2>(c, a, b, m, n, k, stream); }
void gemm_mma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) { launch<4, 4>(c, a, b, m, n, k, stream); }
void gemm_pipelined(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) { launch<2, 4>(c, a, b, m, n, k, stream); }
}  // namespace lab09
