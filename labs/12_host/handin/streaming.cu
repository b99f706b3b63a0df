// A model that is larger than the GPU's memory: its weights pass through, layer by layer. Right, but
// everything waits for everything before it.
#include <cuda_runtime.h>

#include <cstddef>
#include <lab/device.hpp>
#include <vector>

#include "host.hpp"
#include "layer.hpp"

namespace lab12 {

void forward(float* out, const float* token, const weights& from, int layers, int n) {
  const std::size_t numbers = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  LAB_CUDA_CHECK(cudaMemcpy(out, token, static_cast<std::size_t>(n) * sizeof(float), cudaMemcpyDeviceToDevice));
  // TODO(lab12.forward_transfers): what does a copy from this memory cost, and what could the host do meanwhile?
  std::vector<float> there(numbers);
  // TODO(lab12.forward_overlap): which of the steps below have to wait for which?
  for (int layer = 0; layer < layers; ++layer) {
    from.read(from.state, layer, there.data());
    float *w = nullptr, *work = nullptr;
    LAB_CUDA_CHECK(cudaMalloc(&w, numbers * sizeof(float)));
    LAB_CUDA_CHECK(cudaMalloc(&work, static_cast<std::size_t>(work_per_n * n) * sizeof(float)));
    LAB_CUDA_CHECK(cudaMemcpy(w, there.data(), numbers * sizeof(float), cudaMemcpyHostToDevice));
    apply_layer(out, w, work, n, nullptr);  // TODO(lab12.forward_launches): the same four launches for each layer
    LAB_CUDA_CHECK(cudaDeviceSynchronize());
    LAB_CUDA_CHECK(cudaFree(w));
    LAB_CUDA_CHECK(cudaFree(work));
  }
}

}  // namespace lab12
