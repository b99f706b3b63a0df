// No shared memory in the fast one: a warp turns a 32 x 32 tile in registers, five exchanges by shuffle.
#include <cooperative_groups.h>
#include <lab/device.hpp>
#include <utility>

#include "coalescing.hpp"

namespace cg = cooperative_groups;

namespace {

enum class how { plain, padded };

template <how kind>
struct __align__(16) tile_of {
  static constexpr int pitch = kind == how::plain ? 32 : 33;
  float at[32 * pitch];
  __device__ float& operator()(int r, int c) { return at[r * pitch + c]; }
};

template <how kind>
__global__ void through_shared(float* __restrict__ out, const float* __restrict__ in, int rows, int columns) {
  extern __shared__ __align__(16) unsigned char raw[];
  auto& tile = *reinterpret_cast<tile_of<kind>*>(raw);
  const int down = (rows + 31) / 32, across = (columns + 31) / 32;
  for (int t = blockIdx.x; t < down * across; t += gridDim.x) {  // persistent
    const int r0 = t / across * 32, c0 = t % across * 32;
#pragma unroll 4
    for (int j = threadIdx.y; j < 32; j += blockDim.y)
      if (r0 + j < rows && c0 + (int)threadIdx.x < columns) tile(j, threadIdx.x) = in[(r0 + j) * columns + c0 + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int j = threadIdx.y; j < 32; j += blockDim.y)
      if (c0 + j < columns && r0 + (int)threadIdx.x < rows) out[(c0 + j) * rows + r0 + threadIdx.x] = tile(threadIdx.x, j);
    __syncthreads();
  }
}

__global__ void __launch_bounds__(128) in_registers(float* __restrict__ out, const float* __restrict__ in, int rows, int columns) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int lane = warp.thread_rank();
  const int across = (columns + 31) / 32, t = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  const int r0 = t / across * 32, c0 = t % across * 32;
  if (r0 >= rows) return;
  float v[32];
#pragma unroll
  for (int j = 0; j < 32; ++j) v[j] = r0 + j < rows && c0 + lane < columns ? in[(r0 + j) * columns + c0 + lane] : 0.0f;
#pragma unroll
  for (int bit = 16; bit > 0; bit /= 2) {
    const bool upper = lane & bit;
#pragma unroll
    for (int j = 0; j < 32; ++j) {
      if (j & bit) continue;
      const float give = upper ? v[j] : v[j + bit];
      const float got = warp.shfl_xor(give, bit);
      if (upper) v[j] = got;
      else v[j + bit] = got;
    }
  }
#pragma unroll
  for (int j = 0; j < 32; ++j)
    if (c0 + j < columns && r0 + lane < rows) out[(c0 + j) * rows + r0 + lane] = v[j];
}

template <how kind>
void launch(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  int device = 0, sms = 0, per_sm = 0;
  LAB_CUDA_CHECK(cudaGetDevice(&device));
  LAB_CUDA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  LAB_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, through_shared<kind>, 256, sizeof(tile_of<kind>)));
  const int tiles = (rows + 31) / 32 * ((columns + 31) / 32);
  through_shared<kind><<<std::min(tiles, sms * per_sm), dim3(32, 8), sizeof(tile_of<kind>), stream>>>(out, in, rows, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void lab03::transpose_tiled(float* out, const float* in, int rows, int columns, cudaStream_t stream) { launch<how::plain>(out, in, rows, columns, stream); }
void lab03::transpose_padded(float* out, const float* in, int rows, int columns, cudaStream_t stream) { launch<how::padded>(out, in, rows, columns, stream); }
void lab03::transpose(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const int tiles = (rows + 31) / 32 * ((columns + 31) / 32);
  in_registers<<<(tiles + 3) / 4, 128, 0, stream>>>(out, in, rows, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}
