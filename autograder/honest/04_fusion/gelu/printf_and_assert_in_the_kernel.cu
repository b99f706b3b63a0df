#include <cassert>
#include <cstdio>
#include "fusion.hpp"

__global__ void chatty(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(blockDim.x == 256);
  if (i == 0 && n == 1) printf("one element: %f\n", in[0]);
  if (i < n) { const float x = in[i]; out[i] = 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); }
}
void lab04::gelu(float* out, const float* in, int n, cudaStream_t stream) {
  std::printf("gelu of %d\n", n);
  chatty<<<(n + 255) / 256, 256, 0, stream>>>(out, in, n);
}
