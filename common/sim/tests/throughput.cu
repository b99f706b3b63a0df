// How many observed accesses a second the simulated device makes, on the tiled transpose. SIM_THREADS=1 gives one
// core's.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <vector>

__global__ void transpose(float* out, const float* in, int n) {
  __shared__ float tile[32][33];
  const int c0 = blockIdx.x * 32, r0 = blockIdx.y * 32, lane = threadIdx.x;
  for (int k = threadIdx.y; k < 32; k += 8) tile[k][lane] = in[(r0 + k) * n + c0 + lane];
  __syncthreads();
  for (int k = threadIdx.y; k < 32; k += 8) out[(c0 + k) * n + r0 + lane] = tile[lane][k];
}

int main() {
  const int n = 2048;
  const std::size_t bytes = sizeof(float) * n * n;
  float *in = nullptr, *out = nullptr;
  if (cudaMalloc(&in, bytes) != cudaSuccess || cudaMalloc(&out, bytes) != cudaSuccess) return 1;
  cudaMemset(in, 1, bytes);
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    transpose<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(out, in, n);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, 4.0 * n * n / seconds.count());
  }
  std::printf("%.1f million observed accesses a second\n", best / 1e6);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
