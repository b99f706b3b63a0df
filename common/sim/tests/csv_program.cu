// Two launches for csv_test.py.
#include <cuda_runtime.h>

template <int Stride>
__global__ void copy(float* out, const float* in) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x * Stride];
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}
__global__ void fill(float* out) { out[threadIdx.x] = 1; }

int main() {
  float* memory = nullptr;
  if (cudaMalloc(&memory, 4096) != cudaSuccess || cudaMemset(memory, 0, 4096) != cudaSuccess) return 1;
  copy<2><<<1, 64>>>(memory + 512, memory);
  fill<<<1, dim3(16, 2)>>>(memory);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
