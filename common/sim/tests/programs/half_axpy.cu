// Half precision: pairs in one register, sums in float.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <vector>

__global__ void axpy(half2* y, const half2* x, half a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}

__global__ void dot(float* sum, const half* x, const half* y, int n) {
  float mine = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) mine += __half2float(x[i]) * __half2float(y[i]);
  for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_down_sync(0xffffffffu, mine, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

int main() {
  const int n = 2000;
  std::vector<half> x(n), y(n);
  double expected = 0;
  for (int i = 0; i < n; ++i) {
    x[i] = __float2half(0.25f * (i % 5));
    y[i] = __float2half(0.5f * (i % 3));
    expected += 0.25 * (i % 5) * (0.5 * (i % 3) + 2 * 0.25 * (i % 5));
  }
  half *d_x, *d_y;
  float *d_sum, sum = 0;
  if (cudaMalloc(&d_x, n * sizeof(half)) || cudaMalloc(&d_y, n * sizeof(half)) || cudaMalloc(&d_sum, sizeof(float)))
    return 2;
  cudaMemcpy(d_x, x.data(), n * sizeof(half), cudaMemcpyHostToDevice);
  cudaMemcpy(d_y, y.data(), n * sizeof(half), cudaMemcpyHostToDevice);
  cudaMemset(d_sum, 0, sizeof(float));
  axpy<<<(n / 2 + 127) / 128, 128>>>(reinterpret_cast<half2*>(d_y), reinterpret_cast<const half2*>(d_x),
                                     __float2half(2.0f), n / 2);
  dot<<<1, 256>>>(d_sum, d_x, d_y, n);
  if (cudaMemcpy(&sum, d_sum, sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(d_x);
  cudaFree(d_y);
  cudaFree(d_sum);
  std::printf("%g, expected %g\n", sum, expected);
  return std::fabs(sum - expected) < 1e-2 * expected ? 0 : 1;
}
