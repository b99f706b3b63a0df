#include <utility>
#include <lab/device.hpp>
#include "fusion.hpp"

template <class T>
class device_array {
 public:
  explicit device_array(std::size_t n) { LAB_CUDA_CHECK(cudaMalloc(&p_, n * sizeof(T))); }
  ~device_array() { if (p_) cudaFree(p_); }
  device_array(device_array&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  T* get() const { return p_; }
 private:
  T* p_ = nullptr;
};

__global__ void f(float* out, const float* in, const float* table, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  out[i] = 0.5f * x * (table[0] + tanhf(0.79788456f * (x + table[1] * x * x * x)));
}

// a constructor that talks to the device
static const device_array<float> table = [] {
  device_array<float> t(2);
  const float host[] = {1.0f, 0.044715f};
  LAB_CUDA_CHECK(cudaMemcpy(t.get(), host, sizeof host, cudaMemcpyHostToDevice));
  return t;
}();

void lab04::gelu(float* out, const float* in, int n, cudaStream_t stream) {
  f<<<(n + 255) / 256, 256, 0, stream>>>(out, in, table.get(), n);
  LAB_CUDA_CHECK(cudaGetLastError());
}
