// What common/docs/DEBUGGER.md steps through: a sum over three neighbours, through shared memory.
#include <cstdio>

constexpr int n = 256, block = 64;

__device__ float weighted(float left, float middle, float right) {
  const float sum = left + right;
  return 0.5f * middle + 0.25f * sum;
}

__global__ void stencil(const float* in, float* out, int count) {
  __shared__ float tile[block + 2];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int at = threadIdx.x + 1;
  tile[at] = in[i];
  if (threadIdx.x == 0) {
    tile[0] = i > 0 ? in[i - 1] : 0;
  }
  if (threadIdx.x == blockDim.x - 1) {
    tile[at + 1] = i + 1 < count ? in[i + 1] : 0;
  }
#ifndef WITHOUT_BARRIER
  __syncthreads();
#endif
  const float value = weighted(tile[at - 1], tile[at], tile[at + 1]);
  out[i] = value;
}

int main() {
  float *in, *out;
  cudaMallocManaged(&in, n * sizeof(float));
  cudaMallocManaged(&out, n * sizeof(float));
  for (int i = 0; i < n; ++i) in[i] = static_cast<float>(i);
  stencil<<<n / block, block>>>(in, out, n);
  cudaDeviceSynchronize();
  std::printf("%g %g\n", out[1], out[n - 1]);
  cudaFree(in);
  cudaFree(out);
}
