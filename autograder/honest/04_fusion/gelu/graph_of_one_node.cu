#include <lab/device.hpp>
#include "fusion.hpp"

__global__ void node(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { const float x = in[i]; out[i] = 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); }
}

void lab04::gelu(float* out, const float* in, int n, cudaStream_t stream) {
  cudaStream_t recording;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  LAB_CUDA_CHECK(cudaStreamCreate(&recording));
  LAB_CUDA_CHECK(cudaStreamBeginCapture(recording, cudaStreamCaptureModeGlobal));
  node<<<(n + 255) / 256, 256, 0, recording>>>(out, in, n);
  LAB_CUDA_CHECK(cudaStreamEndCapture(recording, &graph));
  LAB_CUDA_CHECK(cudaGraphInstantiate(&ready, graph, 0));
  LAB_CUDA_CHECK(cudaGraphLaunch(ready, stream));
  LAB_CUDA_CHECK(cudaGraphExecDestroy(ready));
  LAB_CUDA_CHECK(cudaGraphDestroy(graph));
  LAB_CUDA_CHECK(cudaStreamDestroy(recording));
}
