// Given, not handed in: a small MLP, one kernel per layer, one thread per element. It is not fast; what matters
// is how its time grows.
#include "mlp.hpp"

namespace lab02 {
namespace {

__global__ void layer_kernel(float* out, const float* x, const float* w, int batch, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= batch * width) return;
  const int row = i / width, column = i % width;
  float sum = 0.0f;
  for (int k = 0; k < width; ++k) sum += x[row * width + k] * w[k * width + column];
  out[i] = 0.5f * sum * (1.0f + tanhf(0.79788456f * (sum + 0.044715f * sum * sum * sum)));
}

}  // namespace

// Each step is a forward pass on the same input. The first layer reads x, then `out` and `scratch` alternate.
void mlp(float* out, float* scratch, const float* x, const float* w, int layers, int batch, int width, int steps,
         cudaStream_t stream) {
  const int blocks = (batch * width - 1) / 256 + 1;
  for (int step = 0; step < steps; ++step) {
    const float* from = x;
    for (int layer = 0; layer < layers; ++layer) {
      float* to = (layers - layer) % 2 == 1 ? out : scratch;
      layer_kernel<<<blocks, 256, 0, stream>>>(to, from, w, batch, width);
      from = to;
    }
  }
}

}  // namespace lab02
