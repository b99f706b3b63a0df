// Puzzle 4: each thread fetches one element for the whole block.
#include <lab/device.hpp>

#include "first_kernel.hpp"

namespace lab00 {
namespace {

//! [neighbours]
__global__ void add_neighbours_kernel(float* out, const float* in) {
  __shared__ float tile[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  tile[threadIdx.x] = in[i];
  __syncthreads();  // a neighbour may be in another warp, which has not stored yet
  out[i] = tile[threadIdx.x] + tile[(threadIdx.x + 1) % 256];
}
//! [neighbours]

}  // namespace

void add_neighbours(float* out, const float* in, int rows, cudaStream_t stream) {
  add_neighbours_kernel<<<rows, 256, 0, stream>>>(out, in);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab00
