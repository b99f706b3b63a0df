// The matrix product on tensor cores, one function per rung. None computes anything yet.
#include "low_precision.hpp"

namespace lab09 {
namespace {

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__global__ void wmma_kernel(bf16* c, const bf16* a, const bf16* b, int m, int n, int k) {
  // TODO(lab09.wmma_correct): start from lab 06's tiled kernel: tiles into shared memory, wait, products, wait.
  // TODO(lab09.wmma_traffic): a warp's part of C consists of fragments of 16 x 16. How many of them can share what it
  // loads?
  (void)c, (void)a, (void)b, (void)m, (void)n, (void)k;  // delete this line once they are used
}

__global__ void mma_kernel(bf16* c, const bf16* a, const bf16* b, int m, int n, int k) {
  // TODO(lab09.mma_correct): which addresses do the 32 lanes pass to ldmatrix? Begin with one warp and 16 x 8 elements.
  // TODO(lab09.mma_traffic): in which banks are the 8 rows of one matrix?
  (void)c, (void)a, (void)b, (void)m, (void)n, (void)k;  // delete this line once they are used
}

}  // namespace

void gemm_wmma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  wmma_kernel<<<dim3(ceil_div(n, 64), ceil_div(m, 64)), 128, 0, stream>>>(c, a, b, m, n, k);
}

void gemm_mma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  mma_kernel<<<dim3(ceil_div(n, 128), ceil_div(m, 128)), 256, 0, stream>>>(c, a, b, m, n, k);
}

void gemm_pipelined(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  // TODO(lab09.pipelined_correct): at least three buffers. Which of them may a copy overwrite, and when?
  // TODO(lab09.pipelined_copies): a chunk of 16 bytes outside the matrix becomes zeros without being read.
  // TODO(lab09.gemm_throughput): tiles, warps' parts, depth and buffers are numbers: try several.
  gemm_mma(c, a, b, m, n, k, stream);
}

}  // namespace lab09
