// Managed memory: the host fills it, the device works on it, the host reads it, without a copy; and pinned memory
// beside it.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>

class Managed {
 public:
  void* operator new(size_t bytes) {
    void* p = nullptr;
    cudaMallocManaged(&p, bytes);
    cudaDeviceSynchronize();
    return p;
  }
  void operator delete(void* p) {
    cudaDeviceSynchronize();
    cudaFree(p);
  }
};

struct Numbers : Managed {
  int n;
  float scale;
  float values[1000];
};

__global__ void scale(Numbers* numbers) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < numbers->n) numbers->values[i] *= numbers->scale;
}

int main() {
  Numbers* numbers = new Numbers;
  numbers->n = 1000;
  numbers->scale = 2.0f;
  for (int i = 0; i < numbers->n; ++i) numbers->values[i] = static_cast<float>(i);
  scale<<<4, 256>>>(numbers);
  if (cudaDeviceSynchronize() != cudaSuccess) return 2;
  numbers->scale = 0.5f;
  numbers->values[0] = 8.0f;
  scale<<<4, 256>>>(numbers);
  if (cudaDeviceSynchronize() != cudaSuccess) return 2;
  float* pinned = nullptr;
  if (cudaMallocHost(&pinned, sizeof numbers->values) != cudaSuccess) return 2;
  cudaMemcpy(pinned, numbers->values, sizeof numbers->values, cudaMemcpyDefault);
  int wrong = 0;
  for (int i = 0; i < numbers->n; ++i) {
    const float expected = i == 0 ? 4.0f : static_cast<float>(i);
    wrong += pinned[i] != expected || numbers->values[i] != expected;
  }
  cudaFreeHost(pinned);
  delete numbers;
  std::puts(wrong == 0 ? "PASSED" : "FAILED");
  return wrong != 0;
}
