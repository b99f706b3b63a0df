// Given, not handed in: a product that has one tile for all shapes, and so shows what a library hides by having many.
#include "quantization.hpp"

namespace lab07 {
namespace {

constexpr int tile = 16;

// Tiles are filled with zeros beyond the edges, so that every block does the same work.
__global__ void fixed_tile_kernel(float* c, const float* a, const float* b, int m, int n, int k) {
  __shared__ float tile_a[tile][tile], tile_b[tile][tile];
  const int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
  float sum = 0.0f;
  for (int i = 0; i < k; i += tile) {
    const int ka = i + threadIdx.x, kb = i + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] = kb < k && column < n ? b[kb * n + column] : 0.0f;
    __syncthreads();
    for (int j = 0; j < tile; ++j) sum = fmaf(tile_a[threadIdx.y][j], tile_b[j][threadIdx.x], sum);
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

}  // namespace

void fixed_tile_gemm(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  const dim3 blocks((n - 1) / tile + 1, (m - 1) / tile + 1);
  fixed_tile_kernel<<<blocks, dim3(tile, tile), 0, stream>>>(c, a, b, m, n, k);
}

}  // namespace lab07
