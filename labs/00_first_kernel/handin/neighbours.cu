// Puzzle 4: two threads need the same element. The block shares it. Right, but each element is loaded twice.
#include "first_kernel.hpp"

namespace lab00 {
namespace {

__global__ void add_neighbours_kernel(float* out, const float* in) {
  // TODO(lab00.neighbours_shared): each thread copies one element into `__shared__ float tile[256]`; all wait; then
  // each thread reads two elements of `tile`.
  const int first = blockIdx.x * 256, t = threadIdx.x;
  out[first + t] = in[first + t] + in[first + (t + 1) % 256];
}

}  // namespace

void add_neighbours(float* out, const float* in, int rows, cudaStream_t stream) {
  add_neighbours_kernel<<<rows, 256, 0, stream>>>(out, in);  // a block per row
}

}  // namespace lab00
