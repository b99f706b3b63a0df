// Every atomic function once, from all threads, against what they must leave behind.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void testKernel(int* g_odata) {
  const unsigned int tid = blockDim.x * blockIdx.x + threadIdx.x;
  atomicAdd(&g_odata[0], 10);
  atomicSub(&g_odata[1], 10);
  atomicExch(&g_odata[2], tid);
  atomicMax(&g_odata[3], tid);
  atomicMin(&g_odata[4], tid);
  atomicInc((unsigned int*)&g_odata[5], 17);
  atomicDec((unsigned int*)&g_odata[6], 137);
  atomicCAS(&g_odata[7], tid - 1, tid);
  atomicAnd(&g_odata[8], 2 * tid + 7);
  atomicOr(&g_odata[9], 1 << (tid % 32));
  atomicXor(&g_odata[10], tid);
}

int main() {
  const unsigned threads = 256, blocks = 64, n = threads * blocks;
  int h[11] = {0};
  h[8] = h[10] = 0xff;
  int* d;
  if (cudaMalloc((void**)&d, sizeof h) != cudaSuccess) return 2;
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  testKernel<<<blocks, threads>>>(d);
  if (cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(d);
  int inc = 0, dec = 0, all_and = 0xff, all_xor = 0xff;
  for (unsigned i = 0; i < n; ++i) {
    inc = inc >= 17 ? 0 : inc + 1;
    dec = dec == 0 || dec > 137 ? 137 : dec - 1;
    all_and &= 2 * i + 7;
    all_xor ^= i;
  }
  const bool ok = h[0] == 10 * static_cast<int>(n) && h[1] == -10 * static_cast<int>(n) && h[2] >= 0 &&
                  h[2] < static_cast<int>(n) && h[3] == static_cast<int>(n) - 1 && h[4] == 0 && h[5] == inc &&
                  h[6] == dec && h[7] >= 0 && h[7] < static_cast<int>(n) && h[8] == all_and && h[9] == -1 &&
                  h[10] == all_xor;
  std::puts(ok ? "PASSED" : "FAILED");
  return ok ? 0 : 1;
}
