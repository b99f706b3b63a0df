#include <lab/device.hpp>
#include "coalescing.hpp"
#include <array>
#include <cooperative_groups.h>

namespace {
extern __shared__ float raw[];
__device__ int swizzled(int r, int c) { return r * 32 + (c ^ r); }

__global__ void k(float* out, const float* in, int rows, int columns) {
  const auto block = cooperative_groups::this_thread_block();
  const int r0 = blockIdx.y * 32, c0 = blockIdx.x * 32;
  for (int j = threadIdx.y; j < 32; j += blockDim.y)
    if (r0 + j < rows && c0 + (int)threadIdx.x < columns) raw[swizzled(j, threadIdx.x)] = in[(r0 + j) * columns + c0 + threadIdx.x];
  cooperative_groups::sync(block);
  for (int j = threadIdx.y; j < 32; j += blockDim.y)
    if (c0 + j < columns && r0 + (int)threadIdx.x < rows) out[(c0 + j) * rows + r0 + threadIdx.x] = raw[swizzled(threadIdx.x, j)];
}
__global__ void naive(float* out, const float* in, int rows, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * columns) out[i % columns * rows + i / columns] = in[i];
}
struct config { int threads_y; } const configs[] = {{4}, {8}, {16}};
}

namespace lab03 {
void transpose_naive(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  naive<<<(rows * columns + 255) / 256, 256, 0, stream>>>(out, in, rows, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}
static void with(const config& how, float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const std::array<unsigned, 2> grid = {(columns + 31u) / 32u, (rows + 31u) / 32u};
  k<<<dim3(grid[0], grid[1]), dim3(32, how.threads_y), 32 * 32 * sizeof(float), stream>>>(out, in, rows, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}
void transpose_tiled(float* out, const float* in, int rows, int columns, cudaStream_t stream) { with(configs[0], out, in, rows, columns, stream); }
void transpose_padded(float* out, const float* in, int rows, int columns, cudaStream_t stream) { with(configs[1], out, in, rows, columns, stream); }
void transpose(float* out, const float* in, int rows, int columns, cudaStream_t stream) { with(configs[2], out, in, rows, columns, stream); }
}
