// CUB reduces what a block has seen, in two passes over the row; a block takes several rows.
#include <cub/cub.cuh>
#include <lab/device.hpp>

#include "training.hpp"

namespace lab14 {
namespace {
struct pair { float top; double sum; };
struct join {
  __device__ pair operator()(const pair& a, const pair& b) const {
    const float top = fmaxf(a.top, b.top);
    return {top, a.sum * expf(a.top - top) + b.sum * expf(b.top - top)};
  }
};
template <int threads>
__global__ void kernel(float* losses, float* logits, const int* targets, float scale, int rows, int vocabulary, int pitch) {
  using reduce = cub::BlockReduce<pair, threads>;
  __shared__ typename reduce::TempStorage storage;
  __shared__ pair whole;
  __shared__ float own;
  for (int r = blockIdx.x; r < rows; r += gridDim.x) {
    float* row = logits + std::size_t(r) * pitch;
    const int target = targets[r];
    if (target == ignored) {
      for (int i = threadIdx.x; i < pitch / 4; i += threads) reinterpret_cast<float4*>(row)[i] = float4{};
      if (threadIdx.x == 0) losses[r] = 0;
      continue;
    }
    pair mine{-1e30f, 0};
    for (int q = threadIdx.x; q < (vocabulary + 3) / 4; q += threads) {
      const float4 x = reinterpret_cast<const float4*>(row)[q];
      const float v[] = {x.x, x.y, x.z, x.w};
      for (int k = 0; k < 4; ++k) if (4 * q + k < vocabulary) {
        if (v[k] > mine.top) mine.sum *= expf(mine.top - v[k]), mine.top = v[k];
        mine.sum += expf(v[k] - mine.top);
        if (4 * q + k == target) own = v[k];
      }
    }
    const pair all = reduce(storage).Reduce(mine, join{});
    if (threadIdx.x == 0) whole = all;
    __syncthreads();
    if (threadIdx.x == 0) losses[r] = float(log(whole.sum) + (whole.top - own));
    for (int q = threadIdx.x; q < pitch / 4; q += threads) {
      float v[4] = {};
      if (4 * q < vocabulary) {
        const float4 x = reinterpret_cast<const float4*>(row)[q];
        v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
        for (int k = 0; k < 4; ++k)
          v[k] = 4 * q + k < vocabulary ? scale * float(expf(v[k] - whole.top) / whole.sum - (4 * q + k == target)) : 0.0f;
      }
      reinterpret_cast<float4*>(row)[q] = {v[0], v[1], v[2], v[3]};
    }
    __syncthreads();
  }
}
}  // namespace
void cross_entropy(float* losses, float* logits, const int* targets, float scale, int rows, int vocabulary, int pitch,
                   cudaStream_t stream) {
  kernel<384><<<rows < 264 ? rows : 264, 384, 0, stream>>>(losses, logits, targets, scale, rows, vocabulary, pitch);
  LAB_CUDA_CHECK(cudaGetLastError());
}
}  // namespace lab14
