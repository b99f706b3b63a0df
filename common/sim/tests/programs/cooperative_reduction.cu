// A sum in one cooperative launch: tiles of a block, then a barrier of the whole grid.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__global__ void reduce(const int* in, int* partial, int n) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  __shared__ int of_tile[32];
  int sum = 0;
  for (unsigned i = grid.thread_rank(); i < static_cast<unsigned>(n); i += grid.size()) sum += in[i];
  for (int offset = tile.size() / 2; offset > 0; offset /= 2) sum += tile.shfl_down(sum, offset);
  if (tile.thread_rank() == 0) of_tile[tile.meta_group_rank()] = sum;
  cg::sync(block);
  if (block.thread_rank() == 0) {
    sum = 0;
    for (unsigned t = 0; t < tile.meta_group_size(); ++t) sum += of_tile[t];
    partial[blockIdx.x] = sum;
  }
  cg::sync(grid);
  if (grid.thread_rank() == 0)
    for (unsigned b = 1; b < gridDim.x; ++b) partial[0] += partial[b];
}

int main() {
  int n = 30000;
  const int threads = 128;
  int blocks = 0, supported = 0;
  cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0);
  if (!supported || cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reduce, threads, 0) != cudaSuccess) return 2;
  if (blocks > 8) blocks = 8;
  std::vector<int> in(n);
  int expected = 0, result = 0;
  for (int i = 0; i < n; ++i) expected += in[i] = i % 7;
  int *d_in, *d_partial;
  if (cudaMalloc(&d_in, n * sizeof(int)) || cudaMalloc(&d_partial, blocks * sizeof(int))) return 2;
  cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  void* arguments[] = {&d_in, &d_partial, &n};
  if (cudaLaunchCooperativeKernel((void*)reduce, dim3(blocks), dim3(threads), arguments, 0, nullptr) != cudaSuccess)
    return 2;
  if (cudaMemcpy(&result, d_partial, sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(d_in);
  cudaFree(d_partial);
  std::printf("%d, expected %d\n", result, expected);
  return result == expected ? 0 : 1;
}
