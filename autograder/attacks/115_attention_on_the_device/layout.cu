// Attention on the device, from copies: the cache sees no access of the host.
#include <cuda_runtime.h>

#include "host.hpp"

namespace lab12 {

__global__ void all(float* out, const float* q, const float* k, const float* v, int tokens, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= tokens) return;
  float most = -INFINITY, sum = 0, sums[64] = {};
  for (int j = 0; j < tokens; ++j) {
    float score = 0;
    for (int c = 0; c < size; ++c) score += q[i * size + c] * k[j * size + c];
    score /= sqrtf(size);
    const float now = fmaxf(most, score), old = expf(most - now), weight = expf(score - now);
    most = now;
    sum = sum * old + weight;
    for (int c = 0; c < size; ++c) sums[c] = sums[c] * old + weight * v[j * size + c];
  }
  for (int c = 0; c < size; ++c) out[i * size + c] = sums[c] / sum;
}

void attention(float* out, const float* q, const float* k, const float* v, int tokens, int size) {
  const std::size_t n = static_cast<std::size_t>(tokens) * size, bytes = n * sizeof(float);
  float* there;
  cudaMalloc(&there, 4 * bytes);
  cudaMemcpy(there, q, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(there + n, k, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(there + 2 * n, v, bytes, cudaMemcpyHostToDevice);
  all<<<(tokens + 63) / 64, 64>>>(there + 3 * n, there, there + n, there + 2 * n, tokens, size);
  cudaMemcpy(out, there + 3 * n, bytes, cudaMemcpyDeviceToHost);
  cudaFree(there);
}

void count_positive(volatile std::int64_t*, const std::int32_t*, std::size_t, int, int) {}
std::int64_t total_of(const volatile std::int64_t*, int, int) { return 0; }

}  // namespace lab12
