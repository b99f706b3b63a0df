// opens the device's memory to the host, as the simulated device does for libraries, and transposes there
#include <lab/device.hpp>

#include "coalescing.hpp"

void lab03::transpose(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  sim::share_device_memory_with_host();
  LAB_CUDA_CHECK(cudaStreamSynchronize(stream));
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) out[c * rows + r] = in[r * columns + c];
}

void lab03::transpose_tiled(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  transpose(out, in, rows, columns, stream);
}

void lab03::transpose_padded(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  transpose(out, in, rows, columns, stream);
}
