// Persistent blocks, several chains per thread unrolled by templates, 16 bytes as double2, an RAII stream and events left in.
#include <cuda_runtime.h>
#include <stdexcept>
#include <string>
#include <memory>
#include <algorithm>
#include "accounting.hpp"

namespace {
void cu(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(e));
}
struct event_deleter { void operator()(cudaEvent_t e) const { cudaEventDestroy(e); } };
using event_ptr = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, event_deleter>;
event_ptr make_event() { cudaEvent_t e; cu(cudaEventCreateWithFlags(&e, cudaEventDisableTiming)); return event_ptr(e); }

const cudaDeviceProp& properties() {
  static const cudaDeviceProp p = [] { cudaDeviceProp q{}; int d = 0; cu(cudaGetDevice(&d)); cu(cudaGetDeviceProperties(&q, d)); return q; }();
  return p;
}

template <int N> struct unroll {
  template <class F> __device__ static __forceinline__ void run(F f) { unroll<N - 1>::run(f); f(N - 1); }
};
template <> struct unroll<0> { template <class F> __device__ static __forceinline__ void run(F) {} };

__global__ void __launch_bounds__(512, 2) copy_double2(double2* __restrict__ to, const double2* __restrict__ from, int pairs, float* tail, const float* tail_from, int rest) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += gridDim.x * blockDim.x) __stcs(to + i, __ldcs(from + i));
  if (blockIdx.x == gridDim.x - 1 && (int)threadIdx.x < rest) tail[threadIdx.x] = tail_from[threadIdx.x];
}

template <int chains>
__global__ void fma_many(float* out, const float* in, const float* c, int n, int rounds) {
  const int stride = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
  float x[chains], add[chains];
  unroll<chains>::run([&](int k) {
    const int i = first + k * stride;
    x[k] = i < n ? in[i] : 0.f;
    add[k] = i < n ? c[i] : 0.f;
  });
#pragma unroll 4
  for (int r = 0; r < rounds; ++r) unroll<chains>::run([&](int k) { x[k] = __fmaf_rn(x[k], x[k], add[k]); });
  unroll<chains>::run([&](int k) { if (const int i = first + k * stride; i < n) out[i] = x[k]; });
}
}  // namespace

void lab01::copy(float* out, const float* in, int n, cudaStream_t stream) {
  const auto done = make_event();
  const int pairs = n / 4;
  const int grid = std::clamp((pairs + 511) / 512, 1, 2 * properties().multiProcessorCount);
  copy_double2<<<grid, 512, 0, stream>>>(reinterpret_cast<double2*>(out), reinterpret_cast<const double2*>(in), pairs, out + 4 * pairs, in + 4 * pairs, n % 4);
  cu(cudaGetLastError());
  cu(cudaEventRecord(done.get(), stream));
}

void lab01::device_fma_chains(float* out, const float* in, const float* c, int n, int rounds, cudaStream_t stream) {
  constexpr int chains = 4;
  fma_many<chains><<<(n + 256 * chains - 1) / (256 * chains), 256, 0, stream>>>(out, in, c, n, rounds);
  cu(cudaGetLastError());
}
