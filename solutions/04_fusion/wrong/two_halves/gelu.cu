// Wrong on purpose: fused into two kernels; the first leaves u in the output, the second reads it again.
#include <lab/device.hpp>

#include "fusion.hpp"

namespace lab04 {
namespace {

constexpr int block_size = 256;

constexpr int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__global__ void inner_kernel(float* out, const float* in, int n) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  if (i < n) out[i] = 0.79788456f * (in[i] + 0.044715f * in[i] * in[i] * in[i]);
}

__global__ void outer_kernel(float* out, const float* in, int n) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  if (i < n) out[i] = 0.5f * in[i] * (1.0f + tanhf(out[i]));
}

}  // namespace

void gelu(float* out, const float* in, int n, cudaStream_t stream) {
  inner_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(out, in, n);
  outer_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(out, in, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab04
