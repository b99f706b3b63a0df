#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include "fusion.hpp"

__global__ void small(float* out, const float* in, int n) { int i = threadIdx.x; if (i < n) { float x = in[i]; out[i] = 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); } }
__global__ void large(float* out, const float* in, int n) { int i = blockIdx.x * 512 + threadIdx.x; if (i < n) { float x = in[i]; out[i] = 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); } }

class launcher {
 public:
  virtual ~launcher() = default;
  virtual void operator()(float*, const float*, int, cudaStream_t) const = 0;
};
class one_block : public launcher {
  void operator()(float* o, const float* i, int n, cudaStream_t s) const override { small<<<1, 32, 0, s>>>(o, i, n); }
};
class many_blocks : public launcher {
  void operator()(float* o, const float* i, int n, cudaStream_t s) const override { large<<<(n + 511) / 512, 512, 0, s>>>(o, i, n); }
};
static std::map<std::string, std::unique_ptr<launcher>> registry = [] {
  std::map<std::string, std::unique_ptr<launcher>> m;
  m.emplace("small", std::make_unique<one_block>());
  m.emplace("large", std::make_unique<many_blocks>());
  return m;
}();

void lab04::gelu(float* out, const float* in, int n, cudaStream_t stream) {
  const std::function<const launcher&(int)> choose = [](int count) -> const launcher& { return *registry.at(count <= 32 ? "small" : "large"); };
  choose(n)(out, in, n, stream);
  if (const cudaError_t e = cudaGetLastError(); e != cudaSuccess) throw std::runtime_error(cudaGetErrorName(e));
}
