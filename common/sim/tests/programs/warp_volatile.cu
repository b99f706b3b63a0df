// The last warp of a reduction in shared memory through a volatile pointer, with __syncwarp between the steps.
#include <cstdio>
#include <vector>

__device__ void sum_last_warp(volatile int* s, unsigned t) {
  int v = s[t];
  for (unsigned step = 32; step >= 1; step /= 2) {
    v += s[t + step];
    __syncwarp();
    s[t] = v;
    __syncwarp();
  }
}

__global__ void sum(int* out, const int* in) {
  __shared__ int s[128 + 32];
  const unsigned t = threadIdx.x;
  s[t] = in[blockIdx.x * 128 + t];
  if (t < 32) s[128 + t] = 0;
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) sum_last_warp(s, t);
  if (t == 0) out[blockIdx.x] = s[0];
}

int main() {
  const int blocks = 20, n = blocks * 128;
  std::vector<int> in(n), out(blocks);
  for (int i = 0; i < n; ++i) in[i] = i % 23;
  int *d_in, *d_out;
  if (cudaMalloc(&d_in, n * 4) != cudaSuccess || cudaMalloc(&d_out, blocks * 4) != cudaSuccess) return 2;
  cudaMemcpy(d_in, in.data(), n * 4, cudaMemcpyHostToDevice);
  sum<<<blocks, 128>>>(d_out, d_in);
  if (cudaMemcpy(out.data(), d_out, blocks * 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(d_in);
  cudaFree(d_out);
  int wrong = 0;
  for (int b = 0; b < blocks; ++b) {
    int expected = 0;
    for (int i = 0; i < 128; ++i) expected += in[b * 128 + i];
    wrong += out[b] != expected;
  }
  std::puts(wrong == 0 ? "PASSED" : "FAILED");
  return wrong != 0;
}
