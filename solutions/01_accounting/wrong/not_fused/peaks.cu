// The two peaks of a GPU. A copy asks for 16 bytes a lane, and several of them before it waits for the first. The
// multiply-adds run in chains that do not wait for one another, so that every unit starts one each cycle.
#include "accounting.hpp"

namespace lab01 {
namespace {

constexpr int block_size = 256;

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

//! [copy]
// A block copies `in_flight` runs of 4 KiB, one float4 of each run a thread: all loads are on their way before the
// first store. The last n % 4 elements go one by one.
constexpr int in_flight = 4;

__global__ void copy_kernel(float* __restrict__ out, const float* __restrict__ in, int n) {
  const int quads = n / 4;
  const int first = blockIdx.x * (block_size * in_flight) + threadIdx.x;
  float4 values[in_flight];
#pragma unroll
  for (int k = 0; k < in_flight; ++k) {
    const int i = first + k * block_size;
    if (i < quads) values[k] = reinterpret_cast<const float4*>(in)[i];
  }
#pragma unroll
  for (int k = 0; k < in_flight; ++k) {
    const int i = first + k * block_size;
    if (i < quads) reinterpret_cast<float4*>(out)[i] = values[k];
  }
  if (blockIdx.x == 0 && static_cast<int>(threadIdx.x) < n % 4)
    out[4 * quads + threadIdx.x] = in[4 * quads + threadIdx.x];
}
//! [copy]

//! [chains]
// Four chains a thread: with the eight warps or more that share each scheduler, far more than a multiply-add's latency
// of four cycles. The step count is the same for all, so the loop costs one compare and branch in 4 x unroll steps.
constexpr int chains = 4;

__global__ void fma_kernel(float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ c, int n,
                           int rounds) {
  const int first = blockIdx.x * (block_size * chains) + threadIdx.x;
  float x[chains], constants[chains];
#pragma unroll
  for (int k = 0; k < chains; ++k) {
    const int i = first + k * block_size;
    x[k] = i < n ? in[i] : 0.0f;
    constants[k] = i < n ? c[i] : 0.0f;
  }
#pragma unroll 16
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int k = 0; k < chains; ++k) {
      volatile float square = x[k] * x[k];
      x[k] = square + constants[k];
    }
  }
#pragma unroll
  for (int k = 0; k < chains; ++k) {
    const int i = first + k * block_size;
    if (i < n) out[i] = x[k];
  }
}
//! [chains]

}  // namespace

void copy(float* out, const float* in, int n, cudaStream_t stream) {
  const int blocks = ceil_div(ceil_div(n, 4), block_size * in_flight);
  copy_kernel<<<blocks, block_size, 0, stream>>>(out, in, n);
}

void device_fma_chains(float* out, const float* in, const float* c, int n, int rounds, cudaStream_t stream) {
  fma_kernel<<<ceil_div(n, block_size * chains), block_size, 0, stream>>>(out, in, c, n, rounds);
}

}  // namespace lab01
