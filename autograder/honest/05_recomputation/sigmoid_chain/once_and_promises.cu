#include <algorithm>
#include <future>
#include <lab/device.hpp>
#include <mutex>
#include "recomputation.hpp"

namespace {
__device__ inline float sg(float x) { return 1.0f / (1.0f + expf(-x)); }
__global__ void chain(float *o, const float *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] = sg(sg(sg(x[i])));
}
__global__ void grad(float *o, const float *x, const float *g, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float a = sg(x[i]), a1 = sg(-x[i]), b = sg(a), c = sg(b);
    o[i] = g[i] * (c * (1 - c)) * (b * (1 - b)) * (a * a1);
  }
}
int grid_for(int n) {
  static std::once_flag asked;
  static int multiprocessors = 0;
  std::call_once(asked, [] { cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0); });
  std::promise<int> blocks;
  blocks.set_value(std::min((n + 255) / 256, 8 * multiprocessors));
  return blocks.get_future().get();
}
}  // namespace

void lab05::forward(float *out, const float *in, int n, cudaStream_t stream) {
  chain<<<grid_for(n), 256, 0, stream>>>(out, in, n);
}
void lab05::backward(float *d_in, const float *in, const float *d_out, int n, cudaStream_t stream) {
  grad<<<grid_for(n), 256, 0, stream>>>(d_in, in, d_out, n);
}
