// Pi by counting points in a circle, a generator for each thread, sums by atomics on 64-bit integers.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>

struct generator {
  unsigned long long state;
  __device__ explicit generator(unsigned seed) : state(seed * 6364136223846793005ull + 1442695040888963407ull) {}
  __device__ float operator()() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<float>(state >> 40) * (1.0f / 16777216.0f);
  }
};

__global__ void throw_darts(unsigned long long* hits, int throws) {
  generator random(blockIdx.x * blockDim.x + threadIdx.x + 1);
  for (int warm = 0; warm < 10; ++warm) random();
  unsigned long long inside = 0;
  for (int i = 0; i < throws; ++i) {
    const float x = random(), y = random();
    if (x * x + y * y <= 1.0f) ++inside;
  }
  for (int offset = 16; offset > 0; offset /= 2) inside += __shfl_xor_sync(0xffffffffu, inside, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(hits, inside);
}

int main() {
  const int blocks = 20, threads = 256, throws = 200;
  unsigned long long* hits;
  if (cudaMalloc(&hits, sizeof *hits) != cudaSuccess) return 2;
  cudaMemset(hits, 0, sizeof *hits);
  throw_darts<<<blocks, threads>>>(hits, throws);
  unsigned long long total = 0;
  if (cudaMemcpy(&total, hits, sizeof total, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  const double pi = 4.0 * static_cast<double>(total) / (static_cast<double>(blocks) * threads * throws);
  cudaFree(hits);
  std::printf("pi is about %.4f\n", pi);
  return std::fabs(pi - 3.14159265) < 0.01 ? 0 : 1;
}
