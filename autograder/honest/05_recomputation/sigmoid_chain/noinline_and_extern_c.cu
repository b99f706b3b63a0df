#include "recomputation.hpp"

#define THREADS 256
#define SIGMOID(x) (1.0f / (1.0f + __expf(-(x))))

extern "C" __global__ void __launch_bounds__(THREADS) chain_forward(float* __restrict__ out, const float* __restrict__ in, int n) {
  int i = 4 * (blockIdx.x * THREADS + threadIdx.x);
  if (i + 3 < n) {
    float4 v = *(const float4*)(in + i);
    v.x = SIGMOID(SIGMOID(SIGMOID(v.x)));
    v.y = SIGMOID(SIGMOID(SIGMOID(v.y)));
    v.z = SIGMOID(SIGMOID(SIGMOID(v.z)));
    v.w = SIGMOID(SIGMOID(SIGMOID(v.w)));
    *(float4*)(out + i) = v;
  } else
    while (i < n) out[i] = SIGMOID(SIGMOID(SIGMOID(in[i]))), i++;
}

static __device__ __noinline__ float gradient(float x, float d) {
  float s1 = SIGMOID(x), s2 = SIGMOID(s1), s3 = SIGMOID(s2);
  d *= s3 * (1 - s3);
  d *= s2 * (1 - s2);
  return d * (s1 * SIGMOID(-x));
}

extern "C" __global__ void __launch_bounds__(THREADS) chain_backward(float* __restrict__ d_in, const float* __restrict__ in, const float* __restrict__ d_out, int n) {
  const int stride = gridDim.x * THREADS;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += stride) d_in[i] = gradient(__ldg(&in[i]), __ldg(&d_out[i]));
}

void lab05::forward(float* out, const float* in, int n, cudaStream_t stream) {
  chain_forward<<<(n + 4 * THREADS - 1) / (4 * THREADS), THREADS, 0, stream>>>(out, in, n);
}

void lab05::backward(float* d_in, const float* in, const float* d_out, int n, cudaStream_t stream) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > 1056) blocks = 1056;
  chain_backward<<<blocks, THREADS, 0, stream>>>(d_in, in, d_out, n);
}
