// One generic kernel over any number of arrays; 1 - sigmoid(x) is sigmoid(-x), which keeps its digits.
#include "recomputation.hpp"

namespace lab05 {
namespace {
__device__ __forceinline__ float sigmoid(float x) {
  const float e = expf(-fabsf(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
template <class F, class... In>
__global__ void map(float* out, int n, F f, const In*... in) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < static_cast<unsigned>(n); i += gridDim.x * blockDim.x)
    out[i] = f(in[i]...);
}
struct chain {
  __device__ float operator()(float x) const { return sigmoid(sigmoid(sigmoid(x))); }
};
struct gradient {
  __device__ float operator()(float x, float d) const {
    const float a = sigmoid(x), b = sigmoid(a), c = sigmoid(b);
    return d * (a * sigmoid(-x)) * (b * sigmoid(-a)) * (c * sigmoid(-b));
  }
};
template <class F, class... In>
void launch(cudaStream_t stream, float* out, int n, F f, const In*... in) {
  map<<<(n - 1) / 512 + 1, 256, 0, stream>>>(out, n, f, in...);
}
}  // namespace
void forward(float* out, const float* in, int n, cudaStream_t stream) { launch(stream, out, n, chain{}, in); }
void backward(float* d_in, const float* in, const float* d_out, int n, cudaStream_t stream) {
  launch(stream, d_in, n, gradient{}, in, d_out);
}
}  // namespace lab05
