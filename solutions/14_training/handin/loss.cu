// Softmax and cross-entropy: a block per row. The first pass keeps a running maximum and the sum of exponentials
// relative to it; the second turns each logit into its gradient. It goes backwards: what was read last is still in a
// cache.
#include <lab/device.hpp>

#include "training.hpp"

namespace lab14 {
namespace {

constexpr int block_size = 512;
constexpr int warps = block_size / 32;

//! [online]
struct peak {
  float largest, sum;  ///< the sum of exp(x - largest)
};
constexpr float below_all = -1e30f;  // finite: the difference of two infinities would be NaN

__device__ peak joined(const peak& a, const peak& b) {
  const float largest = fmaxf(a.largest, b.largest);
  return {largest, a.sum * __expf(a.largest - largest) + b.sum * __expf(b.largest - largest)};
}
//! [online]

__device__ peak joined_in_warp(peak p) {
  for (int distance = 16; distance > 0; distance /= 2)
    p = joined(p, {__shfl_xor_sync(~0u, p.largest, distance), __shfl_xor_sync(~0u, p.sum, distance)});
  return p;
}

/// Four logits; padding has no weight in a softmax.
__device__ float4 logits_at(const float* row, int quad, int vocabulary) {
  float4 x = reinterpret_cast<const float4*>(row)[quad];
  const int end = vocabulary - 4 * quad;
  if (end < 4) x.w = -INFINITY;
  if (end < 3) x.z = -INFINITY;
  if (end < 2) x.y = -INFINITY;
  return x;
}

__global__ void cross_entropy_kernel(float* losses,       // (rows)
                                     float* logits,       // (rows, pitch)
                                     const int* targets,  // (rows)
                                     float scale, int vocabulary, int pitch) {
  __shared__ peak all[warps];
  float* row = logits + static_cast<long long>(blockIdx.x) * pitch;
  float4* quads = reinterpret_cast<float4*>(row);
  const int target = targets[blockIdx.x], read = (vocabulary - 1) / 4 + 1;
  for (int q = threadIdx.x; q < pitch / 4; q += block_size)
    if (q >= read || target == ignored) quads[q] = float4{};
  if (target == ignored) {
    if (threadIdx.x == 0) losses[blockIdx.x] = 0.0f;
    return;
  }

  peak mine{below_all, 0.0f};
  for (int q = threadIdx.x; q < read; q += block_size) {
    const float4 x = logits_at(row, q, vocabulary);
    const float largest = fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w));
    mine = joined(
        mine, {largest, __expf(x.x - largest) + __expf(x.y - largest) + __expf(x.z - largest) + __expf(x.w - largest)});
  }
  mine = joined_in_warp(mine);
  const int lane = threadIdx.x % 32;
  if (lane == 0) all[threadIdx.x / 32] = mine;
  const float of_target = threadIdx.x == 0 ? row[target] : 0.0f;  // before it becomes a gradient
  __syncthreads();
  const peak whole = joined_in_warp(lane < warps ? all[lane] : peak{below_all, 0.0f});
  if (threadIdx.x == 0) losses[blockIdx.x] = logf(whole.sum) + (whole.largest - of_target);

  const float share = 1.0f / whole.sum;
  const auto gradient = [&](float x, int v) {
    return scale * (__expf(x - whole.largest) * share - (v == target ? 1.0f : 0.0f));
  };
  const int last = (read - 1 - static_cast<int>(threadIdx.x)) / block_size * block_size + threadIdx.x;
  for (int q = static_cast<int>(threadIdx.x) < read ? last : -1; q >= 0; q -= block_size) {
    const float4 x = logits_at(row, q, vocabulary);
    quads[q] =
        make_float4(gradient(x.x, 4 * q), gradient(x.y, 4 * q + 1), gradient(x.z, 4 * q + 2), gradient(x.w, 4 * q + 3));
  }
}

}  // namespace

void cross_entropy(float* losses, float* logits, const int* targets, float scale, int rows, int vocabulary, int pitch,
                   cudaStream_t stream) {
  cross_entropy_kernel<<<rows, block_size, 0, stream>>>(losses, logits, targets, scale, vocabulary, pitch);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab14
