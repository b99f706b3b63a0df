// A scaled copy on the device.
#include "topic.hpp"

namespace lab00 {
namespace {

constexpr int block_size = 256;

constexpr int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__global__ void scale_kernel(float* out, const float* in, int n) {
  // TODO(lab00.scale_correct): out[i] = 3 * in[i] for all i < n.
  // TODO(lab00.scale_wide): one float4 per thread, in and out.
  (void)out, (void)in, (void)n;  // delete this line once they are used
}

}  // namespace

void scale(float* out, const float* in, int n, cudaStream_t stream) {
  scale_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(out, in, n);
}

}  // namespace lab00
