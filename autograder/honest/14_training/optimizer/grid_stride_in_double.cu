// A plain loop over a grid as large as the device, computed in double.
#include <lab/device.hpp>

#include <cmath>

#include "training.hpp"

namespace lab14 {
namespace {
__global__ void kernel(float* __restrict__ w, float* __restrict__ m, float* __restrict__ v, const float* __restrict__ g, int n, adamw_settings s, double c1, double c2) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const double gi = g[i], mi = s.beta1 * double(m[i]) + (1 - double(s.beta1)) * gi, vi = s.beta2 * double(v[i]) + (1 - double(s.beta2)) * gi * gi;
    double wi = w[i];
    wi -= double(s.learning_rate) * s.weight_decay * wi;
    wi -= s.learning_rate * (mi / c1) / (sqrt(vi / c2) + s.epsilon);
    m[i] = float(mi), v[i] = float(vi), w[i] = float(wi);
  }
}
}  // namespace
void adamw(float* w, float* m, float* v, const float* g, int n, const adamw_settings& with, int step, cudaStream_t stream) {
  int device, processors;
  LAB_CUDA_CHECK(cudaGetDevice(&device));
  LAB_CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  kernel<<<4 * processors, 224, 0, stream>>>(w, m, v, g, n, with, 1 - std::pow(double(with.beta1), step), 1 - std::pow(double(with.beta2), step));
  LAB_CUDA_CHECK(cudaGetLastError());
}
}  // namespace lab14
