// printf in device code, from a few threads, with every common conversion.
#include <cstdio>

__global__ void hello(int* count) {
  if (threadIdx.x % 16 == 0)
    printf("hello from block %u, thread %d: %5.2f %s %c %lld %x\n", blockIdx.x, static_cast<int>(threadIdx.x),
           threadIdx.x * 0.5, "text", 'c', 1234567890123ll, 255u);
  atomicAdd(count, 1);
}

int main() {
  int *d_count, count = 0;
  if (cudaMalloc(&d_count, sizeof(int)) != cudaSuccess) return 2;
  cudaMemset(d_count, 0, sizeof(int));
  hello<<<2, 32>>>(d_count);
  cudaDeviceSynchronize();
  if (cudaMemcpy(&count, d_count, sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(d_count);
  return count == 64 ? 0 : 1;
}
