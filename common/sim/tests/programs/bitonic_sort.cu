// Bitonic sort: in shared memory while it fits, in global memory beyond.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

const int SHARED_SIZE = 512;

__device__ inline void Comparator(unsigned& a, unsigned& b, bool up) {
  if ((a > b) == up) {
    const unsigned t = a;
    a = b;
    b = t;
  }
}

__global__ void sortShared(unsigned* key) {
  __shared__ unsigned s[SHARED_SIZE];
  key += blockIdx.x * SHARED_SIZE + threadIdx.x;
  s[threadIdx.x] = key[0];
  s[threadIdx.x + SHARED_SIZE / 2] = key[SHARED_SIZE / 2];
  for (unsigned size = 2; size <= SHARED_SIZE; size <<= 1)
    for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      const unsigned pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      const bool up = ((blockIdx.x * (SHARED_SIZE / 2) + threadIdx.x) & (size / 2)) == 0;
      Comparator(s[pos], s[pos + stride], up);
    }
  __syncthreads();
  key[0] = s[threadIdx.x];
  key[SHARED_SIZE / 2] = s[threadIdx.x + SHARED_SIZE / 2];
}

__global__ void mergeGlobal(unsigned* key, unsigned size, unsigned stride) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned pos = 2 * i - (i & (stride - 1));
  unsigned a = key[pos], b = key[pos + stride];
  Comparator(a, b, (i & (size / 2)) == 0);
  key[pos] = a;
  key[pos + stride] = b;
}

int main() {
  const unsigned n = 4096;
  std::vector<unsigned> keys(n), sorted(n);
  for (auto& k : keys) k = rand() % 1000;
  unsigned* d;
  if (cudaMalloc(&d, n * sizeof(unsigned)) != cudaSuccess) return 2;
  cudaMemcpy(d, keys.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice);
  sortShared<<<n / SHARED_SIZE, SHARED_SIZE / 2>>>(d);
  for (unsigned size = 2 * SHARED_SIZE; size <= n; size <<= 1)
    for (unsigned stride = size / 2; stride > 0; stride >>= 1) mergeGlobal<<<n / 512, 256>>>(d, size, stride);
  if (cudaMemcpy(sorted.data(), d, n * sizeof(unsigned), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(d);
  std::sort(keys.begin(), keys.end());
  std::puts(keys == sorted ? "PASSED" : "FAILED");
  return keys == sorted ? 0 : 1;
}
