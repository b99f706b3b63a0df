#include "accounting.hpp"

namespace lab01 {
namespace {

template <class T, class F>
__global__ void for_each_vec(int n, F f) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i);
}

__global__ void copy_kernel(float4* __restrict__ out, const float4* __restrict__ in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 4) out[i] = in[i];
  else if (i == n / 4) {
    auto* o = reinterpret_cast<float*>(out);
    auto* p = reinterpret_cast<const float*>(in);
    for (int j = n / 4 * 4; j < n; ++j) o[j] = p[j];
  }
}

struct step {
  float* out; const float* in; const float* c; int rounds;
  __device__ void operator()(int i) const {
    float x = in[i];
    const float y = c[i];
    for (int k = 0; k < rounds; ++k) x = fmaf(x, x, y);
    out[i] = x;
  }
};

}  // namespace

void copy(float* out, const float* in, int n, cudaStream_t stream) {
  copy_kernel<<<n / 4 / 256 + 1, 256, 0, stream>>>(reinterpret_cast<float4*>(out), reinterpret_cast<const float4*>(in), n);
}

void device_fma_chains(float* out, const float* in, const float* c, int n, int rounds, cudaStream_t stream) {
  const int blocks = (n + 255) / 256;
  for_each_vec<float><<<blocks, 256, 0, stream>>>(n, step{out, in, c, rounds});
}

}  // namespace lab01
