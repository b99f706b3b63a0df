// CRTP: one skeleton, three tiles.
#include <cooperative_groups.h>

#include <lab/device.hpp>

#include "coalescing.hpp"

namespace {

template <class Derived>
struct TileBase {
  static constexpr int kDim = 32;
  __device__ float& at(int r, int c) {
    return static_cast<Derived*>(this)->storage[static_cast<const Derived*>(this)->offset(r, c)];
  }
};
struct Plain : TileBase<Plain> {
  float storage[32 * 32];
  __device__ int offset(int r, int c) const { return r * 32 + c; }
};
struct Padded : TileBase<Padded> {
  float storage[32 * 33];
  __device__ int offset(int r, int c) const { return r * 33 + c; }
};
struct Xored : TileBase<Xored> {
  float storage[32 * 32];
  __device__ int offset(int r, int c) const { return r * 32 + (c ^ r); }
};

template <class Tile>
__global__ void __launch_bounds__(1024, 2) run(float* out, const float* in, int rows, int cols, int tiles_across) {
  __shared__ Tile tile;
  const int by = blockIdx.x / tiles_across, bx = blockIdx.x % tiles_across;  // 1-D grid
  int c = bx * Tile::kDim + threadIdx.x, r = by * Tile::kDim + threadIdx.y;
  if (r < rows && c < cols) tile.at(threadIdx.y, threadIdx.x) = in[static_cast<size_t>(r) * cols + c];
  cooperative_groups::this_thread_block().sync();
  c = bx * Tile::kDim + threadIdx.y;
  r = by * Tile::kDim + threadIdx.x;
  if (r < rows && c < cols) out[static_cast<size_t>(c) * rows + r] = tile.at(threadIdx.x, threadIdx.y);
}

template <class Tile>
void launch(float* out, const float* in, int rows, int cols, cudaStream_t s) {
  const int across = (cols + 31) / 32, down = (rows + 31) / 32;
  run<Tile><<<across * down, dim3(32, 32), 0, s>>>(out, in, rows, cols, across);
  if (cudaError_t e = cudaPeekAtLastError(); e != cudaSuccess) {
    fprintf(stderr, "transpose: %s\n", cudaGetErrorString(e));
    exit(EXIT_FAILURE);
  }
}

}  // namespace

void lab03::transpose_tiled(float* o, const float* i, int r, int c, cudaStream_t s) { launch<Plain>(o, i, r, c, s); }
void lab03::transpose_padded(float* o, const float* i, int r, int c, cudaStream_t s) { launch<Padded>(o, i, r, c, s); }
void lab03::transpose(float* o, const float* i, int r, int c, cudaStream_t s) { launch<Xored>(o, i, r, c, s); }
