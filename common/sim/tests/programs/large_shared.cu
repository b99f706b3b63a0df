// More than 48 KB of dynamic shared memory has to be requested; otherwise, the launch is refused.
#include <cstdio>
#include <vector>

__global__ void rotate(float* out, const float* in, int n, int by) {
  extern __shared__ float row[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = row[(i + by) % n];
}

int main() {
  const int n = 20000, bytes = n * sizeof(float);  // 80 KB
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = static_cast<float>(i);
  float *d_in, *d_out;
  if (cudaMalloc(&d_in, bytes) != cudaSuccess || cudaMalloc(&d_out, bytes) != cudaSuccess) return 2;
  cudaMemcpy(d_in, in.data(), bytes, cudaMemcpyHostToDevice);
  rotate<<<1, 256, bytes>>>(d_out, d_in, n, 7);
  if (cudaGetLastError() != cudaErrorInvalidValue) return 1;
  int most = 0;
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  if (most < bytes || cudaFuncSetAttribute(rotate, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) != cudaSuccess)
    return 1;
  if (cudaFuncSetAttribute(rotate, cudaFuncAttributeMaxDynamicSharedMemorySize, most + 1) == cudaSuccess) return 1;
  cudaGetLastError();
  rotate<<<1, 256, bytes>>>(d_out, d_in, n, 7);
  if (cudaMemcpy(out.data(), d_out, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(d_in);
  cudaFree(d_out);
  for (int i = 0; i < n; ++i)
    if (out[i] != in[(i + 7) % n]) return 1;
  std::puts("PASSED");
}
