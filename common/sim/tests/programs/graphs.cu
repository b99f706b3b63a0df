// A stream's work captured into a graph, which is then launched many times.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__global__ void axpy(float* y, const float* x, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

int main() {
  const int n = 4096, launches = 10;
  std::vector<float> x(n, 1.0f), y(n);
  float *d_x, *d_y;
  if (cudaMalloc(&d_x, n * sizeof(float)) || cudaMalloc(&d_y, n * sizeof(float))) return 2;
  cudaMemcpy(d_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(d_y, 0, n * sizeof(float));
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) != cudaSuccess) return 2;
  for (int k = 1; k <= 3; ++k) axpy<<<n / 256, 256, 0, stream>>>(d_y, d_x, static_cast<float>(k), n);
  if (cudaStreamEndCapture(stream, &graph) != cudaSuccess) return 2;
  size_t nodes = 0;
  cudaGraphGetNodes(graph, nullptr, &nodes);
  if (nodes != 3 || cudaGraphInstantiate(&executable, graph, 0) != cudaSuccess) return 1;
  for (int k = 0; k < launches; ++k) cudaGraphLaunch(executable, stream);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return 2;
  cudaMemcpy(y.data(), d_y, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  cudaFree(d_x);
  cudaFree(d_y);
  int wrong = 0;
  for (float v : y) wrong += v != 6.0f * launches;
  std::puts(wrong == 0 ? "PASSED" : "FAILED");
  return wrong != 0;
}
