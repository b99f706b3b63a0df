#include <lab/tensor_core.hpp>
// tile of gemm_wmma
#define M 64
#define N 64
#define K 32
#define THREADS 128
#include <mma.h>
#include "low_precision.hpp"
namespace lab09 {
namespace {
namespace wm = nvcuda::wmma;
constexpr int up(int a, int b) { return (a - 1) / b + 1; }
struct alignas(16) chunk { bf16 v[8]; };
template <int R, int CC> __device__ void load_tile(bf16 (&t)[R][CC], const bf16* m, int row0, int col0, int rows, int cols) {
  for (int i = threadIdx.x; i < R * CC / 8; i += blockDim.x) {
    const int r = i / (CC / 8), c = i % (CC / 8) * 8;
    uint4 v = {};
    if (row0 + r < rows && col0 + c < cols) v = *reinterpret_cast<const uint4*>(m + (size_t)(row0 + r) * cols + col0 + c);
    *reinterpret_cast<uint4*>(&t[r][c]) = v;
  }
}
__global__ void __launch_bounds__(THREADS) wmma_kernel(bf16* c, const bf16* a, const bf16* b, int m, int n, int k) {
  __shared__ __align__(32) bf16 ta[M][K], tb[K][N];
  __shared__ __align__(32) float out[4][16][16];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row0 = blockIdx.y * M, col0 = blockIdx.x * N;
  wm::fragment<wm::accumulator, 16, 16, 16, float> s[2][2];
  for (auto& x : s) for (auto& y : x) wm::fill_fragment(y, 0.0f);
  const int wr = warp / 2 * 32, wc = warp % 2 * 32;
  for (int k0 = 0; k0 < k; k0 += K) {
    load_tile(ta, a, row0, k0, m, k);
    load_tile(tb, b, k0, col0, k, n);
    __syncthreads();
    for (int kk = 0; kk < K; kk += 16) {
      wm::fragment<wm::matrix_a, 16, 16, 16, bf16, wm::row_major> fa[2];
      wm::fragment<wm::matrix_b, 16, 16, 16, bf16, wm::row_major> fb[2];
      for (int i = 0; i < 2; ++i) wm::load_matrix_sync(fa[i], &ta[wr + 16 * i][kk], K), wm::load_matrix_sync(fb[i], &tb[kk][wc + 16 * i], N);
      for (int i = 0; i < 2; ++i) for (int j = 0; j < 2; ++j) wm::mma_sync(s[i][j], fa[i], fb[j], s[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i) for (int j = 0; j < 2; ++j) {
    wm::store_matrix_sync(&out[warp][0][0], s[i][j], 16, wm::mem_row_major);
    __syncwarp();
    for (int e = lane; e < 256; e += 32) {
      const int r = row0 + wr + 16 * i + e / 16, cc = col0 + wc + 16 * j + e % 16;
      if (r < m && cc < n) c[(size_t)r * n + cc] = __float2bfloat16(out[warp][e / 16][e % 16]);
    }
    __syncwarp();
  }
}
// gemm_mma: 8 warps, 2 x 4, each 64 x 32
__device__ int swz(int row, int chunk, int per_row) {  // chunk of 16 bytes
  return per_row == 4 ? chunk ^ (row / 2 % 4) : chunk ^ (row % 8);
}
__global__ void __launch_bounds__(256) mma_kernel(bf16* c, const bf16* a, const bf16* b, int m, int n, int k) {
  __shared__ __align__(16) uint4 ta[128][4], tb[32][16];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row0 = blockIdx.y * 128, col0 = blockIdx.x * 128;
  const int wr = warp / 4 * 64, wc = warp % 4 * 32;
  float s[4][4][4] = {};
  for (int k0 = 0; k0 < k; k0 += 32) {
    for (int i = threadIdx.x; i < 512; i += 256) {
      const int r = i / 4, ch = i % 4;
      uint4 v = {};
      if (row0 + r < m && k0 + 8 * ch < k) v = *reinterpret_cast<const uint4*>(a + (size_t)(row0 + r) * k + k0 + 8 * ch);
      ta[r][swz(r, ch, 4)] = v;
      const int rb = i / 16, cb = i % 16;
      uint4 w = {};
      if (k0 + rb < k && col0 + 8 * cb < n) w = *reinterpret_cast<const uint4*>(b + (size_t)(k0 + rb) * n + col0 + 8 * cb);
      tb[rb][swz(rb, cb, 16)] = w;
    }
    __syncthreads();
    for (int kk = 0; kk < 2; ++kk) {
      unsigned fa[4][4], fb[2][4];
      for (int i = 0; i < 4; ++i) {
        const int r = wr + 16 * i + lane % 16, ch = 2 * kk + lane / 16;
        lab::ldmatrix(fa[i], &ta[r][swz(r, ch, 4)]);
      }
      for (int j = 0; j < 2; ++j) {
        const int r = 16 * kk + lane % 16, ch = wc / 8 + 2 * j + lane / 16;
        lab::ldmatrix_trans(fb[j], &tb[r][swz(r, ch, 16)]);
      }
      for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) {
        const unsigned bb[2] = {fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]};
        lab::mma(s[i][j], fa[i], bb);
      }
    }
    __syncthreads();
  }
  const int g = lane / 4, t = lane % 4;
  for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) for (int h = 0; h < 2; ++h) {
    const int r = row0 + wr + 16 * i + g + 8 * h, cc = col0 + wc + 8 * j + 2 * t;
    if (r < m && cc < n) *reinterpret_cast<__nv_bfloat162*>(c + (size_t)r * n + cc) = __floats2bfloat162_rn(s[i][j][2 * h], s[i][j][2 * h + 1]);
  }
}
}  // namespace
void gemm_wmma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  wmma_kernel<<<dim3(up(n, N), up(m, M)), THREADS, 0, stream>>>(c, a, b, m, n, k);
}
void gemm_mma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  mma_kernel<<<dim3(up(n, 128), up(m, 128)), 256, 0, stream>>>(c, a, b, m, n, k);
}
void gemm_pipelined(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) { gemm_mma(c, a, b, m, n, k, stream); }
}  // namespace lab09
