// Votes of a warp: any, all, ballot.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__global__ void voteAny(const unsigned* input, unsigned* result) {
  int tx = threadIdx.x;
  result[tx] = __any_sync(0xffffffff, input[tx]);
}
__global__ void voteAll(const unsigned* input, unsigned* result) {
  int tx = threadIdx.x;
  result[tx] = __all_sync(0xffffffff, input[tx]);
}
__global__ void countBelow(const unsigned* input, unsigned* result) {
  int tx = threadIdx.x, lane = tx % warpSize;
  unsigned ballot = __ballot_sync(0xffffffff, input[tx] & 1);
  result[tx] = __popc(ballot & ((1u << lane) - 1));
}
/// Only the lower half takes part.
__global__ void halfWarp(const unsigned* input, unsigned* result) {
  int tx = threadIdx.x;
  result[tx] = 0;
  if (tx % 32 < 16) result[tx] = __ballot_sync(0x0000ffff, input[tx] & 1);
}

int main() {
  const int n = 128;
  std::vector<unsigned> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = i < 32 ? 0 : i < 64 ? 1 + i : i < 96 ? i & 2 : i * i;
  unsigned *d_in, *d_out;
  if (cudaMalloc(&d_in, n * 4) != cudaSuccess || cudaMalloc(&d_out, n * 4) != cudaSuccess) return 2;
  cudaMemcpy(d_in, in.data(), n * 4, cudaMemcpyHostToDevice);
  int wrong = 0;
  for (int test = 0; test < 4; ++test) {
    if (test == 0) voteAny<<<1, n>>>(d_in, d_out);
    if (test == 1) voteAll<<<1, n>>>(d_in, d_out);
    if (test == 2) countBelow<<<1, n>>>(d_in, d_out);
    if (test == 3) halfWarp<<<1, n>>>(d_in, d_out);
    if (cudaMemcpy(out.data(), d_out, n * 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
    for (int i = 0; i < n; ++i) {
      unsigned any = 0, all = 1, below = 0, ballot = 0;
      for (int lane = 0; lane < 32; ++lane) {
        const unsigned v = in[i / 32 * 32 + lane];
        any |= v != 0;
        all &= v != 0;
        if (lane < i % 32) below += v & 1;
        if (lane < 16) ballot |= (v & 1) << lane;
      }
      const unsigned expected[] = {any, all, below, i % 32 < 16 ? ballot : 0};
      wrong += (test < 2 ? out[i] != 0 : out[i]) != expected[test];
    }
  }
  cudaFree(d_in);
  cudaFree(d_out);
  std::puts(wrong == 0 ? "PASSED" : "FAILED");
  return wrong != 0;
}
