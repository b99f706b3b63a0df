// Softmax and cross-entropy: a block per row. The row comes from memory once and stays in shared memory; each thread
// looks only at what it has copied itself, so the copies need no barrier. A row that is too long for that is read
// twice.
#include <cuda_pipeline.h>
#include <lab/device.hpp>

#include <algorithm>

#include "training.hpp"

namespace lab14 {
namespace {

constexpr int most_threads = 1024;

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
__device__ float4 logits_at(const float4* row, int quad, int vocabulary) {
  float4 x = row[quad];
  const int end = vocabulary - 4 * quad;
  if (end < 4) x.w = -INFINITY;
  if (end < 3) x.z = -INFINITY;
  if (end < 2) x.y = -INFINITY;
  return x;
}

/// With `keeps`, there is shared memory for the logits of a row.
template <bool keeps>
__global__ void __launch_bounds__(most_threads) cross_entropy_kernel(float* losses,       // (rows)
                                                                     float* logits,       // (rows, pitch)
                                                                     const int* targets,  // (rows)
                                                                     float scale, int vocabulary, int pitch) {
  extern __shared__ float4 kept[];
  __shared__ peak all[most_threads / 32];
  float* row = logits + static_cast<long long>(blockIdx.x) * pitch;
  float4* quads = reinterpret_cast<float4*>(row);
  const int target = targets[blockIdx.x], read = (vocabulary - 1) / 4 + 1;
  const int thread = threadIdx.x, threads = blockDim.x;
  for (int q = thread; q < pitch / 4; q += threads)
    if (q >= read || target == ignored) quads[q] = float4{};
  if (target == ignored) {
    if (thread == 0) losses[blockIdx.x] = 0.0f;
    return;
  }
  const float4* from = quads;
  if constexpr (keeps) {
    //! [kept]
    for (int q = thread; q < read; q += threads) __pipeline_memcpy_async(kept + q, quads + q, sizeof(float4));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    //! [kept]
    from = kept;
  }

  peak mine{below_all, 0.0f};
  for (int q = thread; q < read; q += threads) {
    const float4 x = logits_at(from, q, vocabulary);
    const float largest = fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w));
    mine = joined(
        mine, {largest, __expf(x.x - largest) + __expf(x.y - largest) + __expf(x.z - largest) + __expf(x.w - largest)});
  }
  mine = joined_in_warp(mine);
  const int lane = thread % 32;
  if (lane == 0) all[thread / 32] = mine;
  const float of_target = thread == 0 ? row[target] : 0.0f;  // before it becomes a gradient
  __syncthreads();
  const peak whole = joined_in_warp(lane < threads / 32 ? all[lane] : peak{below_all, 0.0f});
  if (thread == 0) losses[blockIdx.x] = logf(whole.sum) + (whole.largest - of_target);

  const float share = 1.0f / whole.sum;
  const auto gradient = [&](float x, int v) {
    return scale * (__expf(x - whole.largest) * share - (v == target ? 1.0f : 0.0f));
  };
  for (int q = thread; q < read; q += threads) {
    const float4 x = logits_at(from, q, vocabulary);
    quads[q] =
        make_float4(gradient(x.x, 4 * q), gradient(x.y, 4 * q + 1), gradient(x.z, 4 * q + 2), gradient(x.w, 4 * q + 3));
  }
}

}  // namespace

void cross_entropy(float* losses, float* logits, const int* targets, float scale, int rows, int vocabulary, int pitch,
                   cudaStream_t stream) {
  constexpr int most_kept = 226 << 10;  // bytes that a block may have, without what `all` takes
  const int threads = std::min(most_threads, (pitch / 4 + 31) / 32 * 32);
  const int bytes = 4 * pitch;
  if (bytes > most_kept) {
    cross_entropy_kernel<false><<<rows, threads, 0, stream>>>(losses, logits, targets, scale, vocabulary, pitch);
  } else {
    LAB_CUDA_CHECK(
        cudaFuncSetAttribute(cross_entropy_kernel<true>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    cross_entropy_kernel<true><<<rows, threads, bytes, stream>>>(losses, logits, targets, scale, vocabulary, pitch);
  }
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab14
