// A scaled copy on the device: 16 bytes per lane; the last n % 4 elements go to the first threads.
#include "topic.hpp"

namespace lab00 {
namespace {

constexpr int block_size = 256;

constexpr int ceil_div(int a, int b) { return (a - 1) / b + 1; }

//! [scale]
__global__ void scale_kernel(float* out, const float* in, int n) {
  const int i = blockIdx.x * block_size + threadIdx.x, quads = n / 4;
  if (i < quads) {
    const float4 x = reinterpret_cast<const float4*>(in)[i];
    reinterpret_cast<float4*>(out)[i] = make_float4(3.0f * x.x, 3.0f * x.y, 3.0f * x.z, 3.0f * x.w);
  }
  if (i < n % 4) out[4 * quads + i] = 3.0f * in[4 * quads + i];
}
//! [scale]

}  // namespace

void scale(float* out, const float* in, int n, cudaStream_t stream) {
  scale_kernel<<<ceil_div(ceil_div(n, 4), block_size), block_size, 0, stream>>>(out, in, n);
}

}  // namespace lab00
