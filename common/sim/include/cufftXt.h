// cuFFT's extended interface: plans by element type, and callbacks. There is one device, so no plan spans several.
#pragma once

#include "cufft.h"
#include "library_types.h"

enum cufftXtSubFormat_t {
  CUFFT_XT_FORMAT_INPUT = 0,
  CUFFT_XT_FORMAT_OUTPUT = 1,
  CUFFT_XT_FORMAT_INPLACE = 2,
  CUFFT_XT_FORMAT_INPLACE_SHUFFLED = 3,
};
using cufftXtSubFormat = cufftXtSubFormat_t;
enum cufftXtCopyType_t {
  CUFFT_COPY_HOST_TO_DEVICE = 0,
  CUFFT_COPY_DEVICE_TO_HOST = 1,
  CUFFT_COPY_DEVICE_TO_DEVICE = 2,
};
using cufftXtCopyType = cufftXtCopyType_t;
enum cufftXtCallbackType_t {
  CUFFT_CB_LD_COMPLEX = 0,
  CUFFT_CB_LD_COMPLEX_DOUBLE = 1,
  CUFFT_CB_LD_REAL = 2,
  CUFFT_CB_LD_REAL_DOUBLE = 3,
  CUFFT_CB_ST_COMPLEX = 4,
  CUFFT_CB_ST_COMPLEX_DOUBLE = 5,
  CUFFT_CB_ST_REAL = 6,
  CUFFT_CB_ST_REAL_DOUBLE = 7,
};
using cufftXtCallbackType = cufftXtCallbackType_t;
using cufftCallbackLoadC = cufftComplex (*)(void* in, std::size_t offset, void* caller, void* shared);
using cufftCallbackLoadZ = cufftDoubleComplex (*)(void* in, std::size_t offset, void* caller, void* shared);
using cufftCallbackLoadR = cufftReal (*)(void* in, std::size_t offset, void* caller, void* shared);
using cufftCallbackLoadD = cufftDoubleReal (*)(void* in, std::size_t offset, void* caller, void* shared);
using cufftCallbackStoreC = void (*)(void* out, std::size_t offset, cufftComplex element, void* caller, void* shared);
using cufftCallbackStoreZ = void (*)(void* out, std::size_t offset, cufftDoubleComplex element, void* caller,
                                     void* shared);
using cufftCallbackStoreR = void (*)(void* out, std::size_t offset, cufftReal element, void* caller, void* shared);
using cufftCallbackStoreD = void (*)(void* out, std::size_t offset, cufftDoubleReal element, void* caller,
                                     void* shared);

struct cudaXtDesc {
  int version, nGPUs;
  int GPUs[64];
  void* data[64];
  std::size_t size[64];
  void* cudaXtState;
};
struct cudaLibXtDesc {
  int version;
  cudaXtDesc* descriptor;
  int library, subFormat;
  void* libDescriptor;
};

extern "C" {
cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long* n, long long* inembed, long long istride,
                                long long idist, cudaDataType in, long long* onembed, long long ostride,
                                long long odist, cudaDataType out, long long batch, std::size_t* work_bytes,
                                cudaDataType compute);
cufftResult cufftXtExec(cufftHandle plan, void* in, void* out, int direction);
/// Sets the function that loads each element of a transform, or stores each result; `callers`: its user argument.
cufftResult cufftXtSetCallback(cufftHandle plan, void** callbacks, cufftXtCallbackType type, void** callers);
cufftResult cufftXtClearCallback(cufftHandle plan, cufftXtCallbackType type);
/// Fails: transforms run on one device; so do calls on memory of several devices.
cufftResult cufftXtSetGPUs(cufftHandle plan, int count, int* devices);
cufftResult cufftXtMalloc(cufftHandle plan, cudaLibXtDesc** memory, cufftXtSubFormat format);
cufftResult cufftXtFree(cudaLibXtDesc* memory);
cufftResult cufftXtMemcpy(cufftHandle plan, void* to, void* from, cufftXtCopyType type);
cufftResult cufftXtExecDescriptorC2C(cufftHandle plan, cudaLibXtDesc* in, cudaLibXtDesc* out, int direction);
cufftResult cufftXtExecDescriptorZ2Z(cufftHandle plan, cudaLibXtDesc* in, cudaLibXtDesc* out, int direction);
cufftResult cufftXtExecDescriptorR2C(cufftHandle plan, cudaLibXtDesc* in, cudaLibXtDesc* out);
cufftResult cufftXtExecDescriptorC2R(cufftHandle plan, cudaLibXtDesc* in, cudaLibXtDesc* out);
}
