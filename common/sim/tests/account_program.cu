// A program with one fault of each kind; sim.account checks the summary at its end.
#include <cstdio>
__global__ void scale(float* x, int n) {
  __shared__ float tile[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = x[i];
  if (i <= n) x[i] = tile[127 - threadIdx.x] * 2;
}
__global__ void copy(float* to, const float* from) { to[threadIdx.x] = from[threadIdx.x]; }
int main() {
  float *a, *b, *source, *target;
  int n = 1000;
  cudaMalloc(&a, n * sizeof(float));
  cudaMalloc(&b, 64);
  cudaMalloc(&source, 128), cudaMalloc(&target, 256);
  cudaMemset(source, 0, 128);
  copy<<<1, 32>>>(target, source);
  cudaFree(source), cudaFree(target);
  cudaMemset(a, 0, n * sizeof(float));
  scale<<<8, 128>>>(a, n);
  scale<<<8, 2048>>>(a, n);
  cudaFree(b);
  cudaFree(b);
}
