#include <iostream>
#include <vector>
#include "fusion.hpp"

// two kernels and a scratch buffer in between: not lean, but right
__global__ void inner(float* u, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) u[i] = 0.79788456f * (in[i] + 0.044715f * in[i] * in[i] * in[i]);
}
__global__ void outer(float* out, const float* u, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 0.5f * in[i] * (1.0f + tanhf(u[i]));
}
static void check(cudaError_t e) {
  if (e != cudaSuccess) { std::cerr << cudaGetErrorString(e) << std::endl; std::exit(1); }
}
void lab04::gelu(float* out, const float* in, int n, cudaStream_t stream) {
  float* u = nullptr;
  check(cudaMallocAsync(&u, n * sizeof(float), stream));
  check(cudaMemsetAsync(u, 0, n * sizeof(float), stream));
  inner<<<(n + 255) / 256, 256, 0, stream>>>(u, in, n);
  outer<<<(n + 255) / 256, 256, 0, stream>>>(out, u, in, n);
  check(cudaGetLastError());
  check(cudaFreeAsync(u, stream));
  static std::vector<int> sizes;
  sizes.push_back(n);
}
