#include "fusion.hpp"
#define FLOAT4(v) (reinterpret_cast<float4*>(&(v))[0])

__device__ static inline float g(float x) { return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); }
__global__ void gelu4(float* __restrict__ y, const float* __restrict__ x, int N) {
  int idx = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (idx + 3 < N) {
    float4 v = *reinterpret_cast<const float4*>(x + idx);
    float4 r;
    r.x = g(v.x); r.y = g(v.y); r.z = g(v.z); r.w = g(v.w);
    FLOAT4(y[idx]) = r;
  } else {
    for (int i = idx; i < N; ++i) y[i] = g(__ldg(&x[i]));
  }
}
void lab04::gelu(float* out, const float* in, int n, cudaStream_t stream) {
  gelu4<<<((n + 3) / 4 + 127) / 128, 128, 0, stream>>>(out, in, n);
}
