// Prefix sum in one pass: each block waits for its predecessor's running total, which comes with a flag.
#include <cuda_runtime.h>

#include <cstdio>
#include <numeric>
#include <vector>

__device__ int block_counter;

__global__ void scan_chained(int* out, const int* in, volatile int* prefix, volatile int* flag, int n) {
  __shared__ int tile[256];
  __shared__ int bid, before;
  if (threadIdx.x == 0) bid = atomicAdd(&block_counter, 1);  // in the order in which blocks really start
  __syncthreads();
  const int i = bid * 256 + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    int v = static_cast<int>(threadIdx.x) >= step ? tile[threadIdx.x - step] : 0;
    __syncthreads();
    tile[threadIdx.x] += v;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    before = 0;
    if (bid > 0) {
      while (flag[bid - 1] == 0) {
      }
      __threadfence();
      before = prefix[bid - 1];
    }
    prefix[bid] = before + tile[255];
    __threadfence();
    flag[bid] = 1;
  }
  __syncthreads();
  if (i < n) out[i] = before + tile[threadIdx.x];
}

int main() {
  const int n = 20001, blocks = (n + 255) / 256, zero = 0;
  std::vector<int> in(n), out(n), expected(n);
  for (int i = 0; i < n; ++i) in[i] = i * 7 % 11;
  std::partial_sum(in.begin(), in.end(), expected.begin());
  int *d_in, *d_out;
  int *d_prefix, *d_flag;
  if (cudaMalloc(&d_in, n * 4) || cudaMalloc(&d_out, n * 4) || cudaMalloc(&d_prefix, blocks * 4) ||
      cudaMalloc(&d_flag, blocks * 4))
    return 2;
  cudaMemcpy(d_in, in.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemset(d_flag, 0, blocks * 4);
  cudaMemcpyToSymbol(block_counter, &zero, sizeof zero);
  scan_chained<<<blocks, 256>>>(d_out, d_in, d_prefix, d_flag, n);
  if (cudaMemcpy(out.data(), d_out, n * 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(d_in);
  cudaFree(d_out);
  cudaFree(d_prefix);
  cudaFree(d_flag);
  std::puts(out == expected ? "PASSED" : "FAILED");
  return out == expected ? 0 : 1;
}
