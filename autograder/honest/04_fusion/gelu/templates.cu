#include <type_traits>
#include <utility>
#include "fusion.hpp"

struct gelu_op {
  template <class T> __device__ __forceinline__ T operator()(T x) const { return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); }
};
template <class Op, int Threads, int PerThread, class T>
__global__ void __launch_bounds__(Threads) map_kernel(T* __restrict__ out, const T* __restrict__ in, int n, Op op) {
  static_assert(std::is_floating_point_v<T>);
  int base = blockIdx.x * (Threads * PerThread) + threadIdx.x;
#pragma unroll
  for (int j = 0; j < PerThread; ++j)
    if (int i = base + j * Threads; i < n) out[i] = op(in[i]);
}
template <int Threads = 128, int PerThread = 4, class Op, class T>
void map(Op op, T* out, const T* in, int n, cudaStream_t stream) {
  map_kernel<Op, Threads, PerThread><<<(n + Threads * PerThread - 1) / (Threads * PerThread), Threads, 0, stream>>>(out, in, n, std::move(op));
}
namespace lab04 {
void gelu(float* out, const float* in, int n, cudaStream_t stream) { map(gelu_op{}, out, in, n, stream); }
}
