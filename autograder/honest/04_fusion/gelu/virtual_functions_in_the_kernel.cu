#include <lab/device.hpp>
#include <new>
#include "fusion.hpp"

// Objects that the kernel makes, with virtual functions and a virtual base.
namespace {
class function {
 public:
  __device__ virtual float of(float x) const = 0;
  __device__ virtual ~function() {}
};
class scaled : public virtual function {
 protected:
  float factor_;
 public:
  __device__ explicit scaled(float factor) : factor_(factor) {}
};
class logistic : public virtual function {
 public:
  __device__ float of(float x) const override { return 1 / (1 + expf(-x)); }
};
class gelu_function final : public scaled, public logistic {
 public:
  __device__ explicit gelu_function(float factor) : scaled(factor) {}
  __device__ float of(float x) const override { return x * logistic::of(2 * factor_ * (x + 0.044715f * x * x * x)); }
};

__global__ void apply(float* out, const float* in, int n) {
  alignas(gelu_function) unsigned char place[sizeof(gelu_function)];
  function* f = new (place) gelu_function(0.79788456f);
  const int i = blockIdx.x * blockDim.x + threadIdx.x, quads = n / 4;
  if (i < quads) {
    float4 v = reinterpret_cast<const float4*>(in)[i];
    v = {f->of(v.x), f->of(v.y), f->of(v.z), f->of(v.w)};
    reinterpret_cast<float4*>(out)[i] = v;
  } else if (3 * quads + i < n) {
    out[3 * quads + i] = f->of(in[3 * quads + i]);
  }
  f->~function();
}
}  // namespace

void lab04::gelu(float* out, const float* in, int n, cudaStream_t stream) {
  apply<<<(n / 4 + n % 4 + 255) / 256, 256, 0, stream>>>(out, in, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}
