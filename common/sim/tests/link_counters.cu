// What a link between two GPUs carries for the requests of a kernel, one kernel for each kind. On a machine with two
//   python3 tensor_counters.py measure FILE.csv link_counters.cu
// writes the counters; tensor_counters.py compare FILE.csv PROGRAM compares.
#include <cuda_runtime.h>

#include <cstdio>

constexpr int n = 1 << 16, threads = 256;

__device__ int place() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void load(const float* peer, float* out, int stride) {
  const int i = place();
  out[i] = peer[static_cast<std::size_t>(i) * stride];
}
__global__ void load_again(const float* peer, float* out) {
  const int i = place();
  const float once = peer[i];
  __syncthreads();
  out[i] = once + peer[i ^ 32];
}
__global__ void load_same_in_all_blocks(const float* peer, float* out) { out[place()] = peer[threadIdx.x]; }
__global__ void load_vectors(const float4* peer, float4* out) { out[place()] = peer[place()]; }
__global__ void load_one_for_a_warp(const float* peer, float* out) { out[place()] = peer[place() / 32]; }
__global__ void store(float* peer, int stride) { peer[static_cast<std::size_t>(place()) * stride] = 1; }
__global__ void store_bytes(char* peer) { peer[place()] = 1; }
__global__ void store_again(float* peer) {
  peer[place()] = 1;
  __syncthreads();
  peer[place() ^ 32] = 2;
}
__global__ void add(int* peer) { atomicAdd(peer + place(), 1); }
__global__ void add_and_use(int* peer, int* out) { out[place()] = atomicAdd(peer + place(), 1); }

int main() {
  float *here, *there;
  cudaMalloc(&here, n * 32 * sizeof(float));
  if (cudaDeviceEnablePeerAccess(1, 0) != cudaSuccess) {
    std::printf("this needs two linked devices\n");
    return 77;
  }
  cudaSetDevice(1);
  cudaMalloc(&there, n * 32 * sizeof(float));
  cudaMemset(there, 0, n * 32 * sizeof(float));
  cudaDeviceSynchronize();
  cudaSetDevice(0);
  const int blocks = n / threads;
  for (int stride = 1; stride <= 32; stride *= 2) load<<<blocks, threads>>>(there, here, stride);
  load_again<<<blocks, threads>>>(there, here);
  load_same_in_all_blocks<<<blocks, threads>>>(there, here);
  for (int stride = 1; stride <= 32; stride *= 2) store<<<blocks, threads>>>(there, stride);
  store_bytes<<<blocks, threads>>>(reinterpret_cast<char*>(there));
  store_again<<<blocks, threads>>>(there);
  add<<<blocks, threads>>>(reinterpret_cast<int*>(there));
  add_and_use<<<blocks, threads>>>(reinterpret_cast<int*>(there), reinterpret_cast<int*>(here));
  load_vectors<<<blocks, threads>>>(reinterpret_cast<float4*>(there), reinterpret_cast<float4*>(here));
  load_one_for_a_warp<<<blocks, threads>>>(there, here);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorString(error));
  cudaFree(here);
  cudaFree(there);
  return error != cudaSuccess;
}
