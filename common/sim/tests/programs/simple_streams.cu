// The same work in one stream, and split across four: the results must agree.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__global__ void init_array(int* g_data, const int* factor, int num_iterations) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < num_iterations; i++) g_data[idx] += *factor;
}

int main() {
  const int nstreams = 4, n = 1 << 14, niterations = 5, nreps = 3;
  const size_t nbytes = n * sizeof(int);
  int c = 5, *h_a, *d_a, *d_c;
  if (cudaMallocHost((void**)&h_a, nbytes) != cudaSuccess) return 2;
  if (cudaMalloc((void**)&d_a, nbytes) != cudaSuccess || cudaMalloc((void**)&d_c, sizeof(int)) != cudaSuccess) return 2;
  cudaMemcpy(d_c, &c, sizeof(int), cudaMemcpyHostToDevice);
  std::vector<cudaStream_t> streams(nstreams);
  for (auto& s : streams) cudaStreamCreate(&s);
  cudaEvent_t start_event, stop_event;
  cudaEventCreate(&start_event);
  cudaEventCreate(&stop_event);
  dim3 threads(512, 1), blocks(n / threads.x / nstreams, 1);
  cudaMemset(d_a, 255, nbytes);
  cudaMemset(d_a, 0, nbytes);
  cudaEventRecord(start_event, 0);
  for (int k = 0; k < nreps; k++) {
    for (int i = 0; i < nstreams; i++)
      init_array<<<blocks, threads, 0, streams[i]>>>(d_a + i * n / nstreams, d_c, niterations);
    for (int i = 0; i < nstreams; i++)
      cudaMemcpyAsync(h_a + i * n / nstreams, d_a + i * n / nstreams, nbytes / nstreams, cudaMemcpyDeviceToHost,
                      streams[i]);
  }
  cudaEventRecord(stop_event, 0);
  cudaEventSynchronize(stop_event);
  float elapsed = 0;
  cudaEventElapsedTime(&elapsed, start_event, stop_event);
  for (auto& s : streams)
    if (cudaStreamSynchronize(s) != cudaSuccess || cudaStreamQuery(s) != cudaSuccess) return 2;
  bool ok = elapsed >= 0;
  for (int i = 0; i < n; i++) ok = ok && h_a[i] == c * nreps * niterations;
  for (auto& s : streams) cudaStreamDestroy(s);
  cudaEventDestroy(start_event);
  cudaEventDestroy(stop_event);
  cudaFreeHost(h_a);
  cudaFree(d_a);
  cudaFree(d_c);
  std::puts(ok ? "PASSED" : "FAILED");
  return ok ? 0 : 1;
}
