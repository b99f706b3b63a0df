// Four elements for each thread, by 16-byte accesses; one warp per block.
#include "first_kernel.hpp"

static __global__ void doubled(float4* out, const float4* in) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const auto [x, y, z, w] = in[i];
  out[i] = {x + x, y + y, z + z, w + w};
}

void lab00::twice(float* out, const float* in, int n, cudaStream_t stream) {
  doubled<<<n / 128, 32, 0, stream>>>(reinterpret_cast<float4*>(out), reinterpret_cast<const float4*>(in));
}
