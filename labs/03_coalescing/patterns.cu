// Given, not handed in: one warp reads the columns of a tile in shared memory. Change the pitch (floats from one row
// to the next) and the same 32 reads meet one bank, or two, or all 32.
#include "coalescing.hpp"

namespace lab03 {
namespace {

__global__ void read_tile_columns_kernel(float* out, const float* in, int pitch) {
  extern __shared__ float tile[];  // (32, pitch)
  const int lane = threadIdx.x;
  for (int r = 0; r < 32; ++r) tile[r * pitch + lane] = in[r * 32 + lane];  // along a row: always 32 banks
  __syncthreads();
  for (int c = 0; c < 32; ++c) out[c * 32 + lane] = tile[lane * pitch + c];  // down a column: which banks?
}

}  // namespace

void read_tile_columns(float* out, const float* in, int pitch, cudaStream_t stream) {
  read_tile_columns_kernel<<<1, 32, 32 * pitch * sizeof(float), stream>>>(out, in, pitch);
}

}  // namespace lab03
