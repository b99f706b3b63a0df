// Given, not handed in: forward and backward in a framework that keeps every intermediate result. Each is one kernel
// and wastes nothing else: the cost is in what it keeps.
#include "recomputation.hpp"

namespace lab05 {
namespace {

constexpr int block_size = 256;

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__device__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }

/// Calls f(i) for each whole float4 i, and g(i) for each leftover element i.
template <class four, class one>
__device__ void each(int n, four f, one g) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  if (i < n / 4)
    f(i);
  else if (const int last = n / 4 * 3 + i; last < n)
    g(last);
}

__device__ float4 sigmoid(float4 x) { return make_float4(sigmoid(x.x), sigmoid(x.y), sigmoid(x.z), sigmoid(x.w)); }

__global__ void forward_stored_kernel(float* out, float* first, float* second, const float* in, int n) {
  each(
      n,
      [=](int i) {
        const float4 x = reinterpret_cast<const float4*>(in)[i];
        const float4 a = sigmoid(x), b = sigmoid(a), c = sigmoid(b);
        reinterpret_cast<float4*>(first)[i] = a;
        reinterpret_cast<float4*>(second)[i] = b;
        reinterpret_cast<float4*>(out)[i] = c;
      },
      [=](int i) {
        const float a = sigmoid(in[i]), b = sigmoid(a);
        first[i] = a;
        second[i] = b;
        out[i] = sigmoid(b);
      });
}

__device__ float derivative(float first, float second) {
  const float third = sigmoid(second);
  return third * (1.0f - third) * second * (1.0f - second) * first * (1.0f - first);
}

__global__ void backward_stored_kernel(float* d_in, const float* first, const float* second, const float* d_out,
                                       int n) {
  each(
      n,
      [=](int i) {
        const float4 a = reinterpret_cast<const float4*>(first)[i], b = reinterpret_cast<const float4*>(second)[i];
        const float4 d = reinterpret_cast<const float4*>(d_out)[i];
        reinterpret_cast<float4*>(d_in)[i] = make_float4(d.x * derivative(a.x, b.x), d.y * derivative(a.y, b.y),
                                                         d.z * derivative(a.z, b.z), d.w * derivative(a.w, b.w));
      },
      [=](int i) { d_in[i] = d_out[i] * derivative(first[i], second[i]); });
}

}  // namespace

void forward_stored(float* out, float* first, float* second, const float* in, int n, cudaStream_t stream) {
  forward_stored_kernel<<<ceil_div(n / 4 + n % 4, block_size), block_size, 0, stream>>>(out, first, second, in, n);
}

void backward_stored(float* d_in, const float* first, const float* second, const float* d_out, int n,
                     cudaStream_t stream) {
  backward_stored_kernel<<<ceil_div(n / 4 + n % 4, block_size), block_size, 0, stream>>>(d_in, first, second, d_out, n);
}

}  // namespace lab05
