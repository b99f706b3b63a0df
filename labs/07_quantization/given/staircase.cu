// Given, not handed in: products with one tile size for all shapes, which show what a library hides by having many.
#include <lab/device.hpp>

#include "quantization.hpp"

namespace lab07 {
namespace {

constexpr int tile = 16;

// Tiles are filled with zeros past the edges, so that every block does the same work.
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

// The same with large tiles: each thread has rows_each x 8 of its block's 16 rows_each x 128 elements. It fetches the
// next step's data while it computes this step. Past an edge, it fetches the last row or column again, so every step
// of every block takes the same time, wherever its tile is. Rows are `ld` elements apart in all three matrices.
constexpr int side = 16, columns_each = 8, depth = 16;

template <int rows_each>
__global__ void __launch_bounds__(side* side)
    wide_tile_kernel(float* c, const float* a, const float* b, int n, int k, int ld) {
  constexpr int tile_m = side * rows_each, tile_n = side * columns_each, rows_at_once = side * side / tile_n;
  __shared__ float tile_a[depth][tile_m + 1], tile_b[depth][tile_n];
  const int tx = threadIdx.x % side, ty = threadIdx.x / side;
  const int bx = threadIdx.x % tile_n, by = threadIdx.x / tile_n;
  const int row = blockIdx.y * tile_m, column = blockIdx.x * tile_n;
  float sums[rows_each][columns_each] = {};
  float next_a[rows_each], next_b[columns_each];
  const auto fetch = [&](int from) {
    for (int r = 0; r < rows_each; ++r)
      next_a[r] = from + tx < k ? a[static_cast<std::int64_t>(min(row + ty + r * side, n - 1)) * ld + from + tx] : 0.0f;
    for (int j = 0; j < columns_each; ++j) {
      const int at = from + by + j * rows_at_once;
      next_b[j] = at < k ? b[static_cast<std::int64_t>(at) * ld + min(column + bx, n - 1)] : 0.0f;
    }
  };
  fetch(0);
  for (int i = 0; i < k; i += depth) {
    for (int r = 0; r < rows_each; ++r) tile_a[tx][ty + r * side] = next_a[r];
    for (int j = 0; j < columns_each; ++j) tile_b[by + j * rows_at_once][bx] = next_b[j];
    __syncthreads();
    if (i + depth < k) fetch(i + depth);
    for (int j = 0; j < depth; ++j) {
      float from_a[rows_each], from_b[columns_each];
      for (int r = 0; r < rows_each; ++r) from_a[r] = tile_a[j][ty + r * side];
      for (int q = 0; q < columns_each; ++q) from_b[q] = tile_b[j][tx + q * side];
      for (int r = 0; r < rows_each; ++r)
        for (int q = 0; q < columns_each; ++q) sums[r][q] = fmaf(from_a[r], from_b[q], sums[r][q]);
    }
    __syncthreads();
  }
  for (int r = 0; r < rows_each; ++r)
    for (int q = 0; q < columns_each; ++q)
      if (row + ty + r * side < n && column + tx + q * side < n)
        c[static_cast<std::int64_t>(row + ty + r * side) * ld + column + tx + q * side] = sums[r][q];
}

/// Extra shared memory that leaves no room for a second block on a multiprocessor.
template <int rows_each>
int padding() {
  static const int bytes = [] {
    int most = 0;
    LAB_CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    cudaFuncAttributes own{};
    LAB_CUDA_CHECK(cudaFuncGetAttributes(&own, wide_tile_kernel<rows_each>));
    const int rest = most - static_cast<int>(own.sharedSizeBytes);
    LAB_CUDA_CHECK(
        cudaFuncSetAttribute(wide_tile_kernel<rows_each>, cudaFuncAttributeMaxDynamicSharedMemorySize, rest));
    return rest;
  }();
  return bytes;
}

template <int rows_each>
void launch_wide(float* c, const float* a, const float* b, int n, int k, int ld, cudaStream_t stream) {
  constexpr int tile_m = side * rows_each, tile_n = side * columns_each;
  const dim3 blocks((n - 1) / tile_n + 1, (n - 1) / tile_m + 1);
  wide_tile_kernel<rows_each><<<blocks, side * side, padding<rows_each>(), stream>>>(c, a, b, n, k, ld);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void wide_tile_gemm(float* c, const float* a, const float* b, int n, int k, int ld, int tile_m, cudaStream_t stream) {
  tile_m == 256 ? launch_wide<16>(c, a, b, n, k, ld, stream) : launch_wide<8>(c, a, b, n, k, ld, stream);
}

void fixed_tile_gemm(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  const dim3 blocks((n - 1) / tile + 1, (m - 1) / tile + 1);
  fixed_tile_kernel<<<blocks, dim3(tile, tile), 0, stream>>>(c, a, b, m, n, k);
}

}  // namespace lab07
