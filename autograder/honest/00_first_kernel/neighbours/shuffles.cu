// A lane gets its neighbour's number by a shuffle; only the first lane of each warp shares its own.
#include "first_kernel.hpp"

namespace {

__global__ void kernel(float* out, const float* in) {
  __shared__ float first[8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float own = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (lane == 0) first[warp] = own;
  __syncthreads();
  float right = __shfl_down_sync(~0u, own, 1);
  if (lane == 31) right = first[(warp + 1) % 8];
  out[blockIdx.x * blockDim.x + threadIdx.x] = own + right;
}

}  // namespace

namespace lab00 {
void add_neighbours(float* out, const float* in, int rows, cudaStream_t stream) {
  kernel<<<dim3(rows), dim3(256), 0, stream>>>(out, in);
}
}  // namespace lab00
