// Transposing a matrix: `in` is read along its rows, `out` is written along its columns, so one of the two is always
// in the wrong order for a warp. Climb from one thread per element (given/patterns.cu) to a tile in shared memory, then
// a tile without bank conflicts, then as close to a plain copy as you can get.
#include "coalescing.hpp"

namespace lab03 {
namespace {

constexpr int tile_edge = 32;  // a tile is 32 x 32 elements, so a warp is one row of it
constexpr int block_rows = 8;  // a block is 32 x 8 threads: four elements per thread

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__global__ void transpose_tiled_kernel(float* out, const float* in, int rows, int columns) {
  // TODO(lab03.tiled_correct): fill a tile in shared memory from `in`, wait for the whole block, write it to `out`.
  // TODO(lab03.tiled_coalesced): in both phases the 32 lanes of a warp must touch neighbours in global memory.
  (void)out, (void)in, (void)rows, (void)columns;  // delete this line once they are used
}

__global__ void transpose_padded_kernel(float* out, const float* in, int rows, int columns) {
  // TODO(lab03.padded_correct): start from your tiled kernel.
  // TODO(lab03.padded_conflict_free): lay the tile out so that the lanes of a warp access 32 different banks.
  (void)out, (void)in, (void)rows, (void)columns;  // delete this line once they are used
}

__global__ void transpose_kernel(float* out, const float* in, int rows, int columns) {
  // TODO(lab03.transpose_correct): any rows and columns, even where no vector access fits.
  // TODO(lab03.transpose_clean): no wasted sector, no bank conflict.
  // TODO(lab03.transpose_throughput): more bytes in flight: more elements per thread, wider accesses, larger tiles.
  (void)out, (void)in, (void)rows, (void)columns;  // delete this line once they are used
}

}  // namespace

void transpose_tiled(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const dim3 grid(ceil_div(columns, tile_edge), ceil_div(rows, tile_edge));
  transpose_tiled_kernel<<<grid, dim3(tile_edge, block_rows), 0, stream>>>(out, in, rows, columns);
}

void transpose_padded(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const dim3 grid(ceil_div(columns, tile_edge), ceil_div(rows, tile_edge));
  transpose_padded_kernel<<<grid, dim3(tile_edge, block_rows), 0, stream>>>(out, in, rows, columns);
}

void transpose(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const dim3 grid(ceil_div(columns, tile_edge), ceil_div(rows, tile_edge));  // yours to change, as is the block
  transpose_kernel<<<grid, dim3(tile_edge, block_rows), 0, stream>>>(out, in, rows, columns);
}

}  // namespace lab03
