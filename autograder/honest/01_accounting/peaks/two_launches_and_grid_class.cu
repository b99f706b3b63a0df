#include "accounting.hpp"
#include <algorithm>
namespace lab01 {
namespace {
// launch configuration object
class Grid {
 public:
  explicit Grid(int work, int threads = 128) : threads_(threads), blocks_(std::min(std::max((work + threads - 1) / threads, 1), 1056)) {}
  int blocks() const { return blocks_; }
  int threads() const { return threads_; }
 private:
  int threads_, blocks_;
};
template <typename T>
__global__ void stride_copy(T* out, const T* in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = in[i];
}
__global__ void chains(float* out, const float* in, const float* c, int n, int rounds) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    float x = in[i], y = c[i];
#pragma unroll 8
    for (int k = 0; k < rounds; ++k) x = __fmaf_rn(x, x, y);
    out[i] = x;
  }
}
}
void copy(float* out, const float* in, int n, cudaStream_t stream) {
  int whole = n / 4, rest = n - 4 * whole;
  if (whole) {
    Grid g(whole);
    stride_copy<float4><<<g.blocks(), g.threads(), 0, stream>>>((float4*)out, (const float4*)in, whole);
  }
  if (rest) stride_copy<float><<<1, 32, 0, stream>>>(out + 4 * whole, in + 4 * whole, rest);
}
void device_fma_chains(float* out, const float* in, const float* c, int n, int rounds, cudaStream_t stream) {
  Grid g(n);
  chains<<<g.blocks(), g.threads(), 0, stream>>>(out, in, c, n, rounds);
}
}
