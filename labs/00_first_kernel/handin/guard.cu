// Puzzle 2: n is any number now, and blocks come whole. Right if n is a multiple of 256.
#include "first_kernel.hpp"

namespace lab00 {
namespace {

__global__ void add_kernel(float* out, const float* a, const float* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  // TODO(lab00.add_correct): the last block may have more threads than elements. What must those threads do?
  (void)n;  // delete this line once it is used
  out[i] = a[i] + b[i];
}

}  // namespace

void add(float* out, const float* a, const float* b, int n, cudaStream_t stream) {
  // TODO(lab00.add_correct): n / 256 rounds down. How many blocks do n elements need?
  add_kernel<<<n / 256, 256, 0, stream>>>(out, a, b, n);
}

}  // namespace lab00
