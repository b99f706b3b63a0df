// 16 bytes at a time, the last n % 4 one by one, by 128 blocks of 512 threads.
#include "first_kernel.hpp"

namespace lab00 {

template <class T, class F>
__device__ void each(T* out, const T* x, const T* y, int first, int end, F f) {
  for (int i = first + blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x) out[i] = f(x[i], y[i]);
}

__global__ void kernel(float* out, const float* x, const float* y, int n) {
  const auto f = [](float a, float b) { return fmaf(2, a, b); };
  each(reinterpret_cast<float4*>(out), reinterpret_cast<const float4*>(x), reinterpret_cast<const float4*>(y), 0, n / 4,
       [&](float4 a, float4 b) { return make_float4(f(a.x, b.x), f(a.y, b.y), f(a.z, b.z), f(a.w, b.w)); });
  each(out, x, y, n / 4 * 4, n, f);
}

void add_twice(float* out, const float* x, const float* y, int n, cudaStream_t stream) {
  kernel<<<128, 512, 0, stream>>>(out, x, y, n);
}

}  // namespace lab00
