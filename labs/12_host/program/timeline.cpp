// Profiles forward of streaming.cu for a model of six layers: ./course profile timeline. Its trace.json holds the
// timeline of copies and kernels.
#include <lab/device.hpp>
#include <lab/profiler.hpp>
#include <vector>

#include "host.hpp"
#include "layer_weights.hpp"

namespace {

constexpr int layers = 6, n = 384;

void read(void*, int layer, float* to) { lab12::fill_layer(1, layer, n, to); }

}  // namespace

int main() {
  const std::vector<float> token(n, 0.5f);
  const lab::device_buffer<float> x(n, 0), out(n, 0);
  LAB_CUDA_CHECK(cudaMemcpy(x.data(), token.data(), x.bytes(), cudaMemcpyHostToDevice));
  lab::profile p;
  p.run("forward", [&] { lab12::forward(out.data(), x.data(), {read, nullptr}, layers, n); });
  p.report();
}
