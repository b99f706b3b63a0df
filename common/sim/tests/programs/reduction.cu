// Six sums of one array, each rung a little faster, block sizes as template parameters.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

template <class T>
__global__ void reduce0(const T* in, T* out, unsigned n) {
  extern __shared__ int raw[];
  T* s = reinterpret_cast<T*>(raw);
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  s[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    if (tid % (2 * step) == 0) s[tid] += s[tid + step];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = s[0];
}

template <class T>
__global__ void reduce1(const T* in, T* out, unsigned n) {
  extern __shared__ int raw[];
  T* s = reinterpret_cast<T*>(raw);
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  s[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step >>= 1) {
    if (tid < step) s[tid] += s[tid + step];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = s[0];
}

/// The last warp works in shared memory on its own.
template <class T, unsigned blockSize>
__device__ void warp_reduce(volatile T* s, unsigned tid) {
  if (blockSize >= 64) {
    T v = s[tid] + s[tid + 32];
    __syncwarp();
    s[tid] = v;
    __syncwarp();
  }
#pragma unroll
  for (unsigned step = 16; step > 0; step >>= 1) {
    T v = s[tid] + s[tid + step];
    __syncwarp();
    s[tid] = v;
    __syncwarp();
  }
}

template <class T, unsigned blockSize>
__global__ void reduce2(const T* in, T* out, unsigned n) {
  __shared__ T s[blockSize + 32];
  unsigned tid = threadIdx.x, i = blockIdx.x * (blockSize * 2) + tid;
  T mine = i < n ? in[i] : 0;
  if (i + blockSize < n) mine += in[i + blockSize];
  s[tid] = mine;
  if (tid < 32) s[blockSize + tid] = 0;
  __syncthreads();
  if (blockSize >= 512) {
    if (tid < 256) s[tid] += s[tid + 256];
    __syncthreads();
  }
  if (blockSize >= 256) {
    if (tid < 128) s[tid] += s[tid + 128];
    __syncthreads();
  }
  if (blockSize >= 128) {
    if (tid < 64) s[tid] += s[tid + 64];
    __syncthreads();
  }
  if (tid < 32) warp_reduce<T, blockSize>(s, tid);
  if (tid == 0) out[blockIdx.x] = s[0];
}

template <class T>
__inline__ __device__ T warpReduceSum(unsigned mask, T v) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) v += __shfl_down_sync(mask, v, offset);
  return v;
}

template <class T, unsigned blockSize, bool nIsPow2>
__global__ void reduce3(const T* __restrict__ in, T* __restrict__ out, unsigned n) {
  __shared__ T partial[blockSize / 32];
  unsigned tid = threadIdx.x, gridSize = blockSize * gridDim.x;
  T mine = 0;
  if (nIsPow2) {
    for (unsigned i = blockIdx.x * blockSize * 2 + tid; i < n; i += gridSize * 2) {
      mine += in[i];
      if (i + blockSize < n) mine += in[i + blockSize];
    }
  } else {
    for (unsigned i = blockIdx.x * blockSize + tid; i < n; i += gridSize) mine += in[i];
  }
  mine = warpReduceSum(0xffffffff, mine);
  if (tid % 32 == 0) partial[tid / 32] = mine;
  __syncthreads();
  if (tid < 32) mine = warpReduceSum(0xffffffff, tid < blockSize / 32 ? partial[tid] : T(0));
  if (tid == 0) out[blockIdx.x] = mine;
}

template <class T>
bool run(unsigned n) {
  std::vector<T> in(n);
  T expected = 0;
  for (unsigned i = 0; i < n; ++i) expected += in[i] = static_cast<T>((i * 7919u) % 13);
  T *d_in, *d_out;
  if (cudaMalloc(&d_in, n * sizeof(T)) != cudaSuccess) return false;
  if (cudaMalloc(&d_out, 1024 * sizeof(T)) != cudaSuccess) return false;
  cudaMemcpy(d_in, in.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  bool good = true;
  for (int rung = 0; rung < 5; ++rung) {
    const unsigned threads = 256;
    unsigned blocks = (n + threads - 1) / threads;
    switch (rung) {
      case 0: reduce0<T><<<blocks, threads, threads * sizeof(T)>>>(d_in, d_out, n); break;
      case 1: reduce1<T><<<blocks, threads, threads * sizeof(T)>>>(d_in, d_out, n); break;
      case 2: reduce2<T, 256><<<blocks = (blocks + 1) / 2, threads>>>(d_in, d_out, n); break;
      case 3: reduce3<T, 256, true><<<blocks = 8, threads>>>(d_in, d_out, n); break;
      default: reduce3<T, 256, false><<<blocks = 8, threads>>>(d_in, d_out, n);
    }
    if (cudaGetLastError() != cudaSuccess) return false;
    std::vector<T> sums(blocks);
    cudaMemcpy(sums.data(), d_out, blocks * sizeof(T), cudaMemcpyDeviceToHost);
    T total = 0;
    for (T s : sums) total += s;
    std::printf("rung %d: %g, expected %g\n", rung, static_cast<double>(total), static_cast<double>(expected));
    good = good && total == expected;
  }
  cudaFree(d_in);
  cudaFree(d_out);
  return good;
}

int main() { return run<int>(1 << 15) && run<int>(10007) && run<float>(1 << 14) && run<double>(5000) ? 0 : 1; }
