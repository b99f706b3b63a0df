// Two tiles in flight: a persistent block copies the next one by cuda::memcpy_async while it stores the last; XOR swizzle.
#include <cuda/pipeline>
#include <cuda/std/utility>
#include <lab/device.hpp>
#include "coalescing.hpp"

namespace lab03 {
namespace {

struct Rect { int rows, cols; };
template <bool Swizzle> __device__ __forceinline__ int slot(int r, int c) { return r * 32 + (Swizzle ? (c ^ r) : c); }

template <bool Swizzle, int Stages>
__global__ __launch_bounds__(256) void kernel(float* __restrict__ out, const float* __restrict__ in, Rect size) {
  __shared__ float tiles[Stages][32 * 32];
  const int across = (size.cols + 31) / 32, n = across * ((size.rows + 31) / 32);
  const int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
  auto pipe = cuda::make_pipeline();
  auto fetch = [&](int t, float* tile) {
    pipe.producer_acquire();
    if (t < n) {
      const int r0 = t / across * 32, c0 = t % across * 32;
      for (int r = w; r < 32; r += 8)
        if (r0 + r < size.rows && c0 + lane < size.cols)
          cuda::memcpy_async(&tile[slot<Swizzle>(r, lane)], &in[(r0 + r) * size.cols + c0 + lane], sizeof(float), pipe);
    }
    pipe.producer_commit();
  };
  int ahead = blockIdx.x, stage = 0;
  for (int s = 0; s < Stages - 1; ++s, ahead += gridDim.x) fetch(ahead, tiles[s]);
  for (int t = blockIdx.x; t < n; t += gridDim.x, ahead += gridDim.x) {
    fetch(ahead, tiles[(stage + Stages - 1) % Stages]);
    cuda::pipeline_consumer_wait_prior<Stages - 1>(pipe);
    __syncthreads();
    const int r0 = t / across * 32, c0 = t % across * 32;
    for (int c = w; c < 32; c += 8)
      if (c0 + c < size.cols && r0 + lane < size.rows) out[(c0 + c) * size.rows + r0 + lane] = tiles[stage][slot<Swizzle>(lane, c)];
    pipe.consumer_release();
    __syncthreads();
    stage = (stage + 1) % Stages;
  }
}

template <bool Swizzle, int Stages>
void go(float* out, const float* in, int rows, int cols, cudaStream_t s) {
  static const int wave = [] {
    int per = 0, sms = 0;
    LAB_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, kernel<Swizzle, Stages>, 256, 0));
    LAB_CUDA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    return per * sms;
  }();
  const int n = (rows + 31) / 32 * ((cols + 31) / 32);
  kernel<Swizzle, Stages><<<std::min(wave, n), 256, 0, s>>>(out, in, {rows, cols});
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace
void transpose_tiled(float* o, const float* i, int r, int c, cudaStream_t s) { go<false, 2>(o, i, r, c, s); }
void transpose_padded(float* o, const float* i, int r, int c, cudaStream_t s) { go<true, 2>(o, i, r, c, s); }
void transpose(float* o, const float* i, int r, int c, cudaStream_t s) { go<true, 3>(o, i, r, c, s); }
}  // namespace lab03
