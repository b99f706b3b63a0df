// One `extern __shared__` name cannot have several types; a class with specialisations gives each type its own name.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

template <typename T>
struct SharedMemory {
  __device__ T* getPointer();
};
#define SHARED_MEMORY_OF(type)           \
  template <>                            \
  struct SharedMemory<type> {            \
    __device__ type* getPointer() {      \
      extern __shared__ type s_##type[]; \
      return s_##type;                   \
    }                                    \
  };
SHARED_MEMORY_OF(int)
SHARED_MEMORY_OF(float)
SHARED_MEMORY_OF(double)

template <class T>
__global__ void testKernel(T* g_idata, T* g_odata) {
  SharedMemory<T> smem;
  T* sdata = smem.getPointer();
  const unsigned int tid = threadIdx.x;
  sdata[tid] = g_idata[tid];
  __syncthreads();
  sdata[tid] = static_cast<T>(blockDim.x) * sdata[tid];
  __syncthreads();
  g_odata[tid] = sdata[blockDim.x - 1 - tid];
}

template <class T>
class ArrayComparator {
 public:
  bool compare(const std::vector<T>& a, const std::vector<T>& b) { return a == b; }
};

template <class T>
bool runTest(int len) {
  std::vector<T> in(len), out(len), reference(len);
  for (int i = 0; i < len; ++i) in[i] = static_cast<T>(i);
  for (int i = 0; i < len; ++i) reference[i] = static_cast<T>(len) * in[len - 1 - i];
  T *d_in, *d_out;
  if (cudaMalloc(&d_in, sizeof(T) * len) != cudaSuccess || cudaMalloc(&d_out, sizeof(T) * len) != cudaSuccess)
    return false;
  cudaMemcpy(d_in, in.data(), sizeof(T) * len, cudaMemcpyHostToDevice);
  testKernel<T><<<1, len, sizeof(T) * len>>>(d_in, d_out);
  cudaMemcpy(out.data(), d_out, sizeof(T) * len, cudaMemcpyDeviceToHost);
  cudaFree(d_in);
  cudaFree(d_out);
  return cudaGetLastError() == cudaSuccess && ArrayComparator<T>().compare(out, reference);
}

int main() {
  const bool ok = runTest<float>(32) && runTest<int>(64) && runTest<double>(200);
  std::puts(ok ? "PASSED" : "FAILED");
  return ok ? 0 : 1;
}
