#include <lab/device.hpp>
#include "fusion.hpp"

__global__ void kernel(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { const float x = in[i]; out[i] = 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); }
}

void lab04::gelu(float* out, const float* in, int n, cudaStream_t stream) {
  void* arguments[] = {&out, &in, &n};
  const dim3 block(32, 4), flat(block.x * block.y), grid((n + flat.x - 1) / flat.x);
  LAB_CUDA_CHECK(cudaLaunchKernel((void*)kernel, grid, flat, arguments, 0, stream));
}
