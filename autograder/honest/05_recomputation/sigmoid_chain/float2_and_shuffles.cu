#include <lab/device.hpp>
#include "recomputation.hpp"

__device__ float s(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }
__device__ __forceinline__ float2 s(float2 v) { return make_float2(s(v.x), s(v.y)); }
__device__ float2 operator*(float2 a, float2 b) { return make_float2(a.x * b.x, a.y * b.y); }
__device__ float2 one_minus(float2 a) { return make_float2(1 - a.x, 1 - a.y); }
union pair { float2 v; float f[2]; };
enum { threads = 128 };

__global__ void __launch_bounds__(threads, 4) fw(float* out, const float* in, int n) {
  int i = 2 * (blockIdx.x * threads + threadIdx.x);
  if (i + 1 < n) reinterpret_cast<float2*>(out)[i / 2] = s(s(s(reinterpret_cast<const float2*>(in)[i / 2])));
  else if (i < n) out[i] = s(s(s(in[i])));
}
__global__ void bw(float* d_in, const float* in, const float* d_out, int n) {
  const int i = 2 * (blockIdx.x * threads + threadIdx.x);
  pair x{}, d{};
  for (int j = 0; j < 2; ++j)
    if (i + j < n) x.f[j] = in[i + j], d.f[j] = d_out[i + j];
  const float2 a = s(x.v), b = s(a), c = s(b);
  pair r{d.v * c * one_minus(c) * b * one_minus(b) * a * one_minus(a)};
  const float most = __shfl_xor_sync(0xffffffffu, r.f[0], 1);
  const unsigned lanes = __ballot_sync(0xffffffffu, most == most);
  for (int j = 0; j < 2; ++j)
    if (i + j < n && __popc(lanes) <= 32) d_in[i + j] = r.f[j];
}
namespace lab05 {
void forward(float* out, const float* in, int n, cudaStream_t stream) {
  fw<<<((n + 1) / 2 + threads - 1) / threads, threads, 0, stream>>>(out, in, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}
void backward(float* d_in, const float* in, const float* d_out, int n, cudaStream_t stream) {
  bw<<<((n + 1) / 2 + threads - 1) / threads, threads, 0, stream>>>(d_in, in, d_out, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}
}
