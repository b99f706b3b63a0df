// One float a lane.
#include "topic.hpp"

namespace lab00 {
namespace {

constexpr int block_size = 256;

constexpr int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__global__ void scale_kernel(float* out, const float* in, int n) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  if (i < n) out[i] = 3.0f * in[i];
}

}  // namespace

void scale(float* out, const float* in, int n, cudaStream_t stream) {
  scale_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(out, in, n);
}

}  // namespace lab00
