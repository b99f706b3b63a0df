// AdamW on the device: 28 bytes per parameter and a few operations, so the only question is how they are moved.
#include <lab/device.hpp>

#include <cmath>

#include "training.hpp"

namespace lab14 {
namespace {

constexpr int block_size = 256;

constexpr int ceil_div(int a, int b) { return (a - 1) / b + 1; }

/// What is the same for all parameters.
struct constants {
  float beta1, beta2, epsilon, decay, rate, root_scale;
};

__device__ void update(float& w, float& m, float& v, float g, const constants& s) {
  m = s.beta1 * m + (1.0f - s.beta1) * g;
  v = s.beta2 * v + (1.0f - s.beta2) * g * g;
  w -= s.decay * w + s.rate * m / (s.root_scale * sqrtf(v) + s.epsilon);
}

// Up to three elements after the last float4 go to the threads after it.
__global__ void adamw_kernel(float* w, float* m, float* v,  // (n) each
                             const float* g,                // (n)
                             int n, constants s) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  if (i < n / 4) {
    float4 wi = reinterpret_cast<float4*>(w)[i], mi = reinterpret_cast<float4*>(m)[i],
           vi = reinterpret_cast<float4*>(v)[i];
    const float4 gi = __ldcs(reinterpret_cast<const float4*>(g) + i);
    update(wi.x, mi.x, vi.x, gi.x, s);
    update(wi.y, mi.y, vi.y, gi.y, s);
    update(wi.z, mi.z, vi.z, gi.z, s);
    update(wi.w, mi.w, vi.w, gi.w, s);
    reinterpret_cast<float4*>(w)[i] = wi;
    reinterpret_cast<float4*>(m)[i] = mi;
    reinterpret_cast<float4*>(v)[i] = vi;
  } else if (const int last = n / 4 * 3 + i; last < n) {
    update(w[last], m[last], v[last], g[last], s);
  }
}

}  // namespace

void adamw(float* w, float* m, float* v, const float* g, int n, const adamw_settings& with, int step,
           cudaStream_t stream) {
  const auto correction = [step](float beta) { return 1.0 - std::pow(static_cast<double>(beta), step); };
  const constants s{with.beta1,
                    with.beta2,
                    with.epsilon,
                    with.learning_rate * with.weight_decay,
                    static_cast<float>(with.learning_rate / correction(with.beta1)),
                    static_cast<float>(1.0 / std::sqrt(correction(with.beta2)))};
  adamw_kernel<<<ceil_div(n / 4 + n % 4, block_size), block_size, 0, stream>>>(w, m, v, g, n, s);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab14
