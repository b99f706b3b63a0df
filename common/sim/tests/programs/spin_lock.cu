// A lock that one thread of each block takes, and a lock that every thread takes.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

class Lock {
 public:
  Lock() {
    int state = 0;
    cudaMalloc(&mutex_, sizeof(int));
    cudaMemcpy(mutex_, &state, sizeof(int), cudaMemcpyHostToDevice);
  }
  void free() { cudaFree(mutex_); }
  __device__ void lock() {
    while (atomicCAS(mutex_, 0, 1) != 0) {
    }
    __threadfence();
  }
  __device__ void unlock() {
    __threadfence();
    atomicExch(mutex_, 0);
  }
  __device__ bool try_lock() { return atomicCAS(mutex_, 0, 1) == 0; }

 private:
  int* mutex_;
};

__global__ void dot(Lock lock, const float* a, const float* b, volatile float* c, int n) {
  __shared__ float cache[128];
  float temp = 0;
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) temp += a[i] * b[i];
  cache[threadIdx.x] = temp;
  __syncthreads();
  for (int i = blockDim.x / 2; i != 0; i /= 2) {
    if (threadIdx.x < static_cast<unsigned>(i)) cache[threadIdx.x] += cache[threadIdx.x + i];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    lock.lock();
    *c = *c + cache[0];
    lock.unlock();
  }
}

/// All lanes of a warp want the same lock: the one that has it must be able to go on.
__global__ void count_all(Lock lock, volatile int* counter) {
  bool done = false;
  while (!done) {
    if (lock.try_lock()) {
      *counter = *counter + 1;
      lock.unlock();
      done = true;
    }
  }
}

int main() {
  const int n = 4096;
  float *a, *b, *c, result = -1;
  int *counter, counted = -1;
  if (cudaMalloc(&a, n * 4) || cudaMalloc(&b, n * 4) || cudaMalloc(&c, 4) || cudaMalloc(&counter, 4)) return 2;
  std::vector<float> ones(n, 1.0f), numbers(n);
  for (int i = 0; i < n; ++i) numbers[i] = static_cast<float>(i % 3);
  cudaMemcpy(a, ones.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(b, numbers.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemset(c, 0, 4);
  cudaMemset(counter, 0, 4);
  Lock lock;
  dot<<<8, 128>>>(lock, a, b, c, n);
  count_all<<<4, 64>>>(lock, counter);
  cudaMemcpy(&result, c, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(&counted, counter, 4, cudaMemcpyDeviceToHost);
  float expected = 0;
  for (float v : numbers) expected += v;
  const bool ok = cudaGetLastError() == cudaSuccess && result == expected && counted == 256;
  lock.free();
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
  cudaFree(counter);
  std::puts(ok ? "PASSED" : "FAILED");
  return ok ? 0 : 1;
}
