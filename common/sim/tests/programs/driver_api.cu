// The driver API alongside the runtime API: a context, memory by address, a launch by symbol; and complex numbers.
#include <cuComplex.h>
#include <cuda.h>

#include <cmath>
#include <cstdio>
#include <vector>

#define CHECK(call)                                                      \
  do {                                                                   \
    const CUresult result = call;                                        \
    if (result != CUDA_SUCCESS) {                                        \
      const char* name = nullptr;                                        \
      cuGetErrorName(result, &name);                                     \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, name ? name : "?"); \
      return 1;                                                          \
    }                                                                    \
  } while (false)

__global__ void rotate(cuFloatComplex* z, int n, cuFloatComplex by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = cuCdivf(cuCmulf(z[i], by), make_cuFloatComplex(2.0f, 0.0f));
}

int main() {
  CHECK(cuInit(0));
  CUdevice device;
  CHECK(cuDeviceGet(&device, 0));
  CUcontext context;
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  char name[100];
  int multiprocessors = 0;
  CHECK(cuDeviceGetName(name, sizeof name, device));
  CHECK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
  if (multiprocessors < 1) return 1;

  int n = 1000;
  std::vector<cuFloatComplex> z(n);
  for (int i = 0; i < n; ++i) z[i] = make_cuFloatComplex(static_cast<float>(i), 1.0f);
  CUdeviceptr d_z;
  CHECK(cuMemAlloc(&d_z, n * sizeof(cuFloatComplex)));
  CHECK(cuMemcpyHtoD(d_z, z.data(), n * sizeof(cuFloatComplex)));
  cuFloatComplex by = make_cuFloatComplex(0.0f, 2.0f);
  void* arguments[] = {&d_z, &n, &by};
  cudaFunction_t kernel;
  if (cudaGetFuncBySymbol(&kernel, reinterpret_cast<const void*>(rotate)) != cudaSuccess) return 1;
  CHECK(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 4, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemcpyDtoH(z.data(), d_z, n * sizeof(cuFloatComplex)));
  CUdeviceptr begin;
  size_t bytes;
  CHECK(cuMemGetAddressRange(&begin, &bytes, d_z + 8));
  if (begin != d_z || bytes != n * sizeof(cuFloatComplex) ||
      cuMemGetAddressRange(&begin, &bytes, 8) != CUDA_ERROR_NOT_FOUND) {
    printf("wrong range of an allocation\n");
    return 1;
  }
  CHECK(cuMemFree(d_z));
  CHECK(cuDevicePrimaryCtxRelease(device));
  for (int i = 0; i < n; ++i)
    if (z[i].x != -1.0f || z[i].y != static_cast<float>(i) ||
        std::abs(cuCabsf(z[i]) - std::hypot(1.0f, 1.0f * i)) > 1e-3f) {
      std::printf("FAIL: element %d is %g + %gi\n", i, z[i].x, z[i].y);
      return 1;
    }
  std::printf("PASS\n");
  return 0;
}
