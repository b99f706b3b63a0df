// The CPU counts while the GPU works, until an event says that it is done.
#include <stdio.h>
#include <string.h>

__global__ void increment_kernel(int* g_data, int inc_value) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  g_data[idx] = g_data[idx] + inc_value;
}

bool correct_output(int* data, const int n, const int x) {
  for (int i = 0; i < n; i++)
    if (data[i] != x) {
      printf("Error! data[%d] = %d, ref = %d\n", i, data[i], x);
      return false;
    }
  return true;
}

int main(int argc, char* argv[]) {
  (void)argc;
  printf("[%s] - Starting...\n", argv[0]);
  int n = 64 * 1024;
  int nbytes = n * sizeof(int);
  int value = 26;
  int* a = 0;
  if (cudaMallocHost((void**)&a, nbytes)) return 2;
  memset(a, 0, nbytes);
  int* d_a = 0;
  if (cudaMalloc((void**)&d_a, nbytes) || cudaMemset(d_a, 255, nbytes)) return 2;
  dim3 threads = dim3(512, 1);
  dim3 blocks = dim3(n / threads.x, 1);
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  cudaDeviceSynchronize();
  float gpu_time = 0.0f;
  cudaEventRecord(start, 0);
  cudaMemcpyAsync(d_a, a, nbytes, cudaMemcpyHostToDevice, 0);
  increment_kernel<<<blocks, threads, 0, 0>>>(d_a, value);
  cudaMemcpyAsync(a, d_a, nbytes, cudaMemcpyDeviceToHost, 0);
  cudaEventRecord(stop, 0);
  unsigned long int counter = 0;
  while (cudaEventQuery(stop) == cudaErrorNotReady) counter++;
  cudaEventElapsedTime(&gpu_time, start, stop);
  printf("%.2f ms by the GPU, the CPU counted to %lu meanwhile\n", gpu_time, counter);
  bool bFinalResults = correct_output(a, n, value) && gpu_time > 0;
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  cudaFreeHost(a);
  cudaFree(d_a);
  return bFinalResults ? 0 : 1;
}
