// While a layer works, the next one's weights are copied: two buffers on each side, a stream for copies and one for
// kernels, and events that say when a buffer is full and when it is free. A graph launches a layer's kernels at once.
#include <cuda_runtime.h>

#include <cstddef>
#include <lab/device.hpp>

#include "host.hpp"
#include "layer.hpp"

namespace lab12 {
namespace {

//! [buffer]
/// Room for a layer on both sides.
struct buffer {
  float *host = nullptr, *device = nullptr;
  cudaEvent_t full = nullptr, free = nullptr;  ///< about the device's room; when it is full, the host's is free
  cudaGraphExec_t layer = nullptr;             ///< the kernels, with this buffer's weights

  buffer(std::size_t bytes, float* x, float* work, int n, cudaStream_t kernels) {
    LAB_CUDA_CHECK(cudaMallocHost(&host, bytes));
    LAB_CUDA_CHECK(cudaMalloc(&device, bytes));
    for (cudaEvent_t* event : {&full, &free}) LAB_CUDA_CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    cudaGraph_t graph = nullptr;
    LAB_CUDA_CHECK(cudaStreamBeginCapture(kernels, cudaStreamCaptureModeThreadLocal));
    apply_layer(x, device, work, n, kernels);
    LAB_CUDA_CHECK(cudaStreamEndCapture(kernels, &graph));
    LAB_CUDA_CHECK(cudaGraphInstantiate(&layer, graph, 0));
    LAB_CUDA_CHECK(cudaGraphDestroy(graph));
  }
  ~buffer() {
    (void)cudaGraphExecDestroy(layer);
    for (cudaEvent_t event : {full, free}) (void)cudaEventDestroy(event);
    (void)cudaFree(device);
    (void)cudaFreeHost(host);
  }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
};
//! [buffer]

}  // namespace

void forward(float* out, const float* token, const weights& from, int layers, int n) {
  const std::size_t size = static_cast<std::size_t>(n), bytes = size * size * sizeof(float);
  const lab::stream copies, kernels;
  float* work = nullptr;
  LAB_CUDA_CHECK(cudaMalloc(&work, work_per_n * size * sizeof(float)));
  LAB_CUDA_CHECK(cudaMemcpyAsync(out, token, size * sizeof(float), cudaMemcpyDeviceToDevice, kernels.get()));
  {
    buffer buffers[] = {{bytes, out, work, n, kernels.get()}, {bytes, out, work, n, kernels.get()}};
    //! [forward]
    for (int layer = 0; layer < layers; ++layer) {
      buffer& b = buffers[layer % 2];
      if (layer >= 2) LAB_CUDA_CHECK(cudaEventSynchronize(b.full));
      from.read(from.state, layer, b.host);
      if (layer >= 2) LAB_CUDA_CHECK(cudaStreamWaitEvent(copies.get(), b.free, 0));
      LAB_CUDA_CHECK(cudaMemcpyAsync(b.device, b.host, bytes, cudaMemcpyHostToDevice, copies.get()));
      LAB_CUDA_CHECK(cudaEventRecord(b.full, copies.get()));
      LAB_CUDA_CHECK(cudaStreamWaitEvent(kernels.get(), b.full, 0));
      LAB_CUDA_CHECK(cudaGraphLaunch(b.layer, kernels.get()));
      LAB_CUDA_CHECK(cudaEventRecord(b.free, kernels.get()));
    }
    //! [forward]
    kernels.synchronize();
  }
  LAB_CUDA_CHECK(cudaFree(work));
}

}  // namespace lab12
