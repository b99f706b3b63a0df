// The ladder of the matrix product. Every multiply-add needs an element of A and one of B; each rung fetches fewer of
// them repeatedly. The naive rung is given, in given/naive.cu; the last three start by calling it, correct but slow.
#include "tiling.hpp"

namespace lab06 {
namespace {

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__global__ void coalesced_kernel(float* c, const float* a, const float* b, int m, int n, int k) {
  // TODO(lab06.coalesced_correct): the same sum, for an element that you choose by threadIdx.
  // TODO(lab06.coalesced_sectors): which index must come from threadIdx.x, so that a warp touches neighbouring
  // elements?
  (void)c, (void)a, (void)b, (void)m, (void)n, (void)k;  // delete this line once they are used
}

__global__ void tiled_kernel(float* c, const float* a, const float* b, int m, int n, int k) {
  // TODO(lab06.tiled_correct): a tile of A and one of B into shared memory, wait, add 32 products, wait, next tiles.
  // TODO(lab06.tiled_traffic): each element comes from global memory once for each block that needs it.
  (void)c, (void)a, (void)b, (void)m, (void)n, (void)k;  // delete this line once they are used
}

__global__ void kernel_1d(float* c, const float* a, const float* b, int m, int n, int k) {
  // TODO(lab06.one_d_correct): 512 threads for 64 x 64 elements: each thread 8 of one column, in 8 registers.
  // TODO(lab06.one_d_traffic): one element of B, loaded from shared memory once, serves 8 multiply-adds.
  (void)c, (void)a, (void)b, (void)m, (void)n, (void)k;  // delete this line once they are used
}

__global__ void kernel_2d(float* c, const float* a, const float* b, int m, int n, int k) {
  // TODO(lab06.two_d_correct): 256 threads for 128 x 128 elements: each thread 8 x 8.
  // TODO(lab06.two_d_traffic): 8 + 8 loads from shared memory serve 64 multiply-adds.
  (void)c, (void)a, (void)b, (void)m, (void)n, (void)k;  // delete this line once they are used
}

__global__ void vectorized_kernel(float* c, const float* a, const float* b, int m, int n, int k) {
  // TODO(lab06.vectorized_correct): start from your 2-D kernel. Where may a float4 not be loaded?
  // TODO(lab06.vectorized_loads): 16 bytes in every load from shared memory. What must be adjacent for that?
  (void)c, (void)a, (void)b, (void)m, (void)n, (void)k;  // delete this line once they are used
}

}  // namespace

void sgemm_coalesced(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  coalesced_kernel<<<dim3(ceil_div(n, 32), ceil_div(m, 8)), dim3(32, 8), 0, stream>>>(c, a, b, m, n, k);
}

void sgemm_tiled(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  tiled_kernel<<<dim3(ceil_div(n, 32), ceil_div(m, 32)), dim3(32, 32), 0, stream>>>(c, a, b, m, n, k);
}

void sgemm_1d(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  kernel_1d<<<dim3(ceil_div(n, 64), ceil_div(m, 64)), 512, 0, stream>>>(c, a, b, m, n, k);
}

void sgemm_2d(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  kernel_2d<<<dim3(ceil_div(n, 128), ceil_div(m, 128)), 256, 0, stream>>>(c, a, b, m, n, k);
}

void sgemm_vectorized(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  vectorized_kernel<<<dim3(ceil_div(n, 128), ceil_div(m, 128)), 256, 0, stream>>>(c, a, b, m, n, k);
}

void sgemm_pipelined(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  // TODO(lab06.pipelined_correct): two buffers. What must have happened before a copy into one of them may begin?
  // TODO(lab06.pipelined_copies): no thread waits for the tiles that it has just requested.
  sgemm_naive(c, a, b, m, n, k, stream);
}

void sgemm_warptiled(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  // TODO(lab06.warptiled_correct): 8 x 16 elements per thread, with lanes arranged 4 x 8 in their warp's tile.
  // TODO(lab06.warptiled_traffic): what does a warp ask of shared memory for one step?
  sgemm_naive(c, a, b, m, n, k, stream);
}

void sgemm(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  // TODO(lab06.sgemm_correct): start from the previous rung.
  // TODO(lab06.sgemm_traffic): half as many barriers.
  // TODO(lab06.sgemm_throughput): what does a warp still wait for?
  sgemm_naive(c, a, b, m, n, k, stream);
}

}  // namespace lab06
