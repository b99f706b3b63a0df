// Prefix sum in one pass: each block looks back over what its predecessors have published, flag and value in one word.
#include <cuda_runtime.h>

#include <cstdio>
#include <numeric>
#include <vector>

__device__ int block_counter;

__global__ void scan_packed(int* out, const int* in, unsigned long long* state, int n) {
  __shared__ int tile[256];
  __shared__ int bid, before;
  if (threadIdx.x == 0) bid = atomicAdd(&block_counter, 1);
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
    const unsigned long long aggregate = 1ull << 62, inclusive = 2ull << 62, mask = (1ull << 62) - 1;
    const unsigned long long sum = tile[255];
    atomicExch(&state[bid], (bid == 0 ? inclusive : aggregate) | sum);
    unsigned long long total = 0;
    for (int k = bid - 1; k >= 0;) {
      const unsigned long long seen = atomicAdd(&state[k], 0ull);
      if (seen >> 62 == 0) continue;
      total += seen & mask;
      if (seen >> 62 == 2) break;
      --k;
    }
    if (bid > 0) atomicExch(&state[bid], inclusive | (total + sum));
    before = static_cast<int>(total);
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
  unsigned long long* d_state;
  if (cudaMalloc(&d_in, n * 4) || cudaMalloc(&d_out, n * 4) || cudaMalloc(&d_state, blocks * 8)) return 2;
  cudaMemcpy(d_in, in.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemset(d_state, 0, blocks * 8);
  cudaMemcpyToSymbol(block_counter, &zero, sizeof zero);
  scan_packed<<<blocks, 256>>>(d_out, d_in, d_state, n);
  if (cudaMemcpy(out.data(), d_out, n * 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(d_in);
  cudaFree(d_out);
  cudaFree(d_state);
  std::puts(out == expected ? "PASSED" : "FAILED");
  return out == expected ? 0 : 1;
}
