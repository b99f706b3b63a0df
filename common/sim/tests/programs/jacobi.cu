// Solves Laplace's equation on a plate by Jacobi's iteration until the largest change is small.
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

/// Positive floats compare as their bits do.
__device__ float atomicMaxFloat(float* address, float value) {
  return __int_as_float(atomicMax(reinterpret_cast<int*>(address), __float_as_int(value)));
}

__global__ void jacobi(float* next, const float* now, float* change, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float d = 0.0f;
  if (x > 0 && y > 0 && x < n - 1 && y < n - 1) {
    const int i = y * n + x;
    const float v = 0.25f * (now[i - 1] + now[i + 1] + now[i - n] + now[i + n]);
    d = fabsf(v - now[i]);
    next[i] = v;
  }
  for (int offset = 16; offset > 0; offset >>= 1) d = fmaxf(d, __shfl_down_sync(0xffffffff, d, offset));
  if ((threadIdx.y * blockDim.x + threadIdx.x) % 32 == 0) atomicMaxFloat(change, d);
}

int main() {
  const int n = 34;
  std::vector<float> plate(n * n, 0.0f);
  for (int i = 0; i < n; ++i) plate[i] = 1.0f;  // one side is hot
  float *a, *b, *change, h_change = 1;
  if (cudaMalloc(&a, n * n * 4) || cudaMalloc(&b, n * n * 4) || cudaMalloc(&change, 4)) return 2;
  cudaMemcpy(a, plate.data(), n * n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(b, a, n * n * 4, cudaMemcpyDeviceToDevice);
  int turns = 0;
  for (; turns < 3000 && h_change > 1e-4f; ++turns) {
    cudaMemsetAsync(change, 0, 4);
    jacobi<<<dim3(3, 3), dim3(16, 16)>>>(b, a, change, n);
    if (cudaMemcpy(&h_change, change, 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
    std::swap(a, b);
  }
  cudaMemcpy(plate.data(), a, n * n * 4, cudaMemcpyDeviceToHost);
  for (float* p : {a, b, change}) cudaFree(p);
  const float middle = plate[n / 2 * n + n / 2];
  std::printf("%d turns, %.3f in the middle\n", turns, middle);
  return turns > 10 && turns < 3000 && std::fabs(middle - 0.25f) < 0.05f ? 0 : 1;
}
