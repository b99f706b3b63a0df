#include <lab/device.hpp>
#include "recomputation.hpp"

struct S { __device__ float operator()(float x) const { return 1.0f / (1.0f + expf(-x)); } };
template <class F> __device__ float three(F f, float x, float* first, float* second) { *first = f(x); *second = f(*first); return f(*second); }
struct Forward { const float* in; __device__ float operator()(int i) const { float a, b; return three(S{}, in[i], &a, &b); } };
struct Backward {
  const float *in, *d;
  __device__ float operator()(int i) const {
    float a, b;
    const float c = three(S{}, in[i], &a, &b);
    return d[i] * c * (1 - c) * b * (1 - b) * a * (1 - a);
  }
};
template <class F> __global__ void each(float* out, F f, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = f(i);
}
template <class F> void launch(float* out, F f, int n, cudaStream_t s) {
  const auto blocks = [=](int threads) { return (n + threads - 1) / threads; };
  each<<<blocks(256), 256, 0, s>>>(out, f, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}
namespace lab05 {
void forward(float* out, const float* in, int n, cudaStream_t stream) { launch(out, Forward{in}, n, stream); }
void backward(float* d_in, const float* in, const float* d_out, int n, cudaStream_t stream) { launch(d_in, Backward{in, d_out}, n, stream); }
}
