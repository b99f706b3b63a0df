// 256 bins: each warp counts into its own copy in shared memory; a second kernel adds up the blocks.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#define BIN_COUNT 256
#define WARP_COUNT 6
#define THREADBLOCK_SIZE (WARP_COUNT * 32)

typedef unsigned int uint;

inline __device__ void addByte(uint* s_WarpHist, uint data) { atomicAdd(s_WarpHist + data, 1); }

inline __device__ void addWord(uint* s_WarpHist, uint data) {
  addByte(s_WarpHist, (data >> 0) & 0xFFU);
  addByte(s_WarpHist, (data >> 8) & 0xFFU);
  addByte(s_WarpHist, (data >> 16) & 0xFFU);
  addByte(s_WarpHist, (data >> 24) & 0xFFU);
}

__global__ void histogram256Kernel(uint* d_PartialHistograms, const uint* d_Data, uint dataCount) {
  __shared__ uint s_Hist[WARP_COUNT * BIN_COUNT];
  uint* s_WarpHist = s_Hist + (threadIdx.x >> 5) * BIN_COUNT;
#pragma unroll
  for (uint i = 0; i < BIN_COUNT / 32; i++) s_Hist[threadIdx.x + i * THREADBLOCK_SIZE] = 0;
  __syncthreads();
  for (uint pos = blockIdx.x * blockDim.x + threadIdx.x; pos < dataCount; pos += blockDim.x * gridDim.x)
    addWord(s_WarpHist, d_Data[pos]);
  __syncthreads();
  for (uint bin = threadIdx.x; bin < BIN_COUNT; bin += THREADBLOCK_SIZE) {
    uint sum = 0;
    for (uint i = 0; i < WARP_COUNT; i++) sum += s_Hist[bin + i * BIN_COUNT];
    d_PartialHistograms[blockIdx.x * BIN_COUNT + bin] = sum;
  }
}

__global__ void mergeHistogram256Kernel(uint* d_Histogram, const uint* d_PartialHistograms, uint histogramCount) {
  uint sum = 0;
  for (uint i = threadIdx.x; i < histogramCount; i += 64) sum += d_PartialHistograms[blockIdx.x + i * BIN_COUNT];
  __shared__ uint data[64];
  data[threadIdx.x] = sum;
  for (uint stride = 32; stride > 0; stride >>= 1) {
    __syncthreads();
    if (threadIdx.x < stride) data[threadIdx.x] += data[threadIdx.x + stride];
  }
  if (threadIdx.x == 0) d_Histogram[blockIdx.x] = data[0];
}

int main() {
  const uint words = 20000, blocks = 10;
  std::vector<uint32_t> data(words);
  uint32_t state = 1;
  for (auto& w : data) w = (state = state * 1664525u + 1013904223u);
  std::vector<uint> expected(BIN_COUNT, 0), result(BIN_COUNT);
  for (uint32_t w : data)
    for (int b = 0; b < 4; ++b) ++expected[(w >> (8 * b)) & 0xff];
  uint *d_data, *d_partial, *d_hist;
  cudaMalloc((void**)&d_data, words * 4);
  cudaMalloc((void**)&d_partial, blocks * BIN_COUNT * sizeof(uint));
  cudaMalloc((void**)&d_hist, BIN_COUNT * sizeof(uint));
  cudaMemcpy(d_data, data.data(), words * 4, cudaMemcpyHostToDevice);
  histogram256Kernel<<<blocks, THREADBLOCK_SIZE>>>(d_partial, d_data, words);
  mergeHistogram256Kernel<<<BIN_COUNT, 64>>>(d_hist, d_partial, blocks);
  if (cudaMemcpy(result.data(), d_hist, sizeof(uint) * BIN_COUNT, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(d_data);
  cudaFree(d_partial);
  cudaFree(d_hist);
  const bool same = std::memcmp(result.data(), expected.data(), sizeof(uint) * BIN_COUNT) == 0;
  std::puts(same ? "PASSED" : "FAILED");
  return same ? 0 : 1;
}
