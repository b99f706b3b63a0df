// Wrong on purpose: whole float4s only.
#include <lab/device.hpp>

#include "recomputation.hpp"

namespace lab05 {
namespace {

constexpr int block_size = 256;

constexpr int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__device__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }

__device__ float chain(float x) { return sigmoid(sigmoid(sigmoid(x))); }

// With e = exp(-|x|) the first sigmoid's s (1 - s) is e / (1 + e)^2: nothing is taken from 1 that is next to 1.
__device__ float chain_derivative(float x) {
  const float e = __expf(-fabsf(x)), over = __fdividef(1.0f, 1.0f + e);
  const float first = x < 0.0f ? e * over : over, second = sigmoid(first), third = sigmoid(second);
  return third * (1.0f - third) * second * (1.0f - second) * e * over * over;
}

// Up to three elements behind the last float4 go to the threads behind it.
__global__ void forward_kernel(float* out,       // (n)
                               const float* in,  // (n)
                               int n) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  if (i < n / 4) {
    const float4 x = __ldcs(reinterpret_cast<const float4*>(in) + i);
    __stcs(reinterpret_cast<float4*>(out) + i, make_float4(chain(x.x), chain(x.y), chain(x.z), chain(x.w)));
  } else if (const int last = n / 4 * 3 + i; last < n) {
    out[last] = chain(in[last]);
  }
}

__global__ void backward_kernel(float* d_in,                          // (n)
                                const float* in, const float* d_out,  // (n) each
                                int n) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  if (i < n / 4) {
    const float4 x = __ldcs(reinterpret_cast<const float4*>(in) + i);
    const float4 d = __ldcs(reinterpret_cast<const float4*>(d_out) + i);
    __stcs(reinterpret_cast<float4*>(d_in) + i, make_float4(d.x * chain_derivative(x.x), d.y * chain_derivative(x.y),
                                                            d.z * chain_derivative(x.z), d.w * chain_derivative(x.w)));
  }
}

}  // namespace

void forward(float* out, const float* in, int n, cudaStream_t stream) {
  forward_kernel<<<ceil_div(n / 4 + n % 4, block_size), block_size, 0, stream>>>(out, in, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void backward(float* d_in, const float* in, const float* d_out, int n, cudaStream_t stream) {
  backward_kernel<<<ceil_div(n / 4 + n % 4, block_size), block_size, 0, stream>>>(d_in, in, d_out, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab05
