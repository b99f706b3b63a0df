#include <lab/device.hpp>
#include "fusion.hpp"

__constant__ float coefficients[2] = {0.79788456f, 0.044715f};
__device__ int launches_seen;

__global__ void gelu_k(float* out, const float* in, int n) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i == 0) atomicAdd(&launches_seen, 1);
  if (i >= n) return;
  const float x = in[i];
  out[i] = 0.5f * x * (1.0f + tanhf(coefficients[0] * (x + coefficients[1] * x * x * x)));
}

void lab04::gelu(float* out, const float* in, int n, cudaStream_t stream) {
  static const float host[2] = {0.79788456f, 0.044715f};
  LAB_CUDA_CHECK(cudaMemcpyToSymbolAsync(coefficients, host, sizeof host, 0, cudaMemcpyHostToDevice, stream));
  gelu_k<<<dim3((n + 63) / 64), dim3(64), 0, stream>>>(out, in, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}
