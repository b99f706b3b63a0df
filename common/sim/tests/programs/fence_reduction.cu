// A sum in one launch: the block that finishes last, known by a ticket, adds the others' results.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__device__ unsigned int retirementCount = 0;

__device__ float reduceBlock(float v, float* sdata) {
  sdata[threadIdx.x] = v;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) sdata[threadIdx.x] += sdata[threadIdx.x + s];
    __syncthreads();
  }
  const float sum = sdata[0];
  __syncthreads();
  return sum;
}

__global__ void reduceSinglePass(const float* g_idata, volatile float* g_odata, unsigned int n) {
  extern __shared__ float sdata[];
  __shared__ bool amLast;
  float mine = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += g_idata[i];
  const float sum = reduceBlock(mine, sdata);
  if (threadIdx.x == 0) {
    g_odata[blockIdx.x] = sum;
    __threadfence();
    const unsigned ticket = atomicInc(&retirementCount, gridDim.x);
    amLast = ticket == gridDim.x - 1;
  }
  __syncthreads();
  if (amLast) {
    mine = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) mine += g_odata[i];
    const float total = reduceBlock(mine, sdata);
    if (threadIdx.x == 0) {
      g_odata[0] = total;
      retirementCount = 0;
    }
  }
}

int main() {
  const unsigned n = 40000, threads = 128, blocks = 64;
  std::vector<float> in(n);
  double expected = 0;
  for (unsigned i = 0; i < n; ++i) expected += in[i] = static_cast<float>(i % 17);
  float *d_in, *d_out, result = 0;
  if (cudaMalloc(&d_in, n * sizeof(float)) != cudaSuccess || cudaMalloc(&d_out, blocks * sizeof(float)) != cudaSuccess)
    return 2;
  cudaMemcpy(d_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  for (int repeat = 0; repeat < 3; ++repeat) {
    reduceSinglePass<<<blocks, threads, threads * sizeof(float)>>>(d_in, d_out, n);
    if (cudaMemcpy(&result, d_out, sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
    if (result != static_cast<float>(expected)) {
      std::printf("sum %g, expected %g\n", result, expected);
      return 1;
    }
  }
  unsigned count = 1;
  cudaMemcpyFromSymbol(&count, retirementCount, sizeof count);
  cudaFree(d_in);
  cudaFree(d_out);
  std::puts("PASSED");
  return count != 0;
}
