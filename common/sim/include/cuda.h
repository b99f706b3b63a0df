// The driver API's <cuda.h> on the simulated device: devices, contexts, memory, streams, events, and launches of
// kernels that are linked into the program. There is one context per device, the primary one, as in the runtime API, so
// everything here is the runtime API under other names. simcc refuses modules and kernels compiled at run time.
#pragma once
#define __cuda_cuda_h__  // programs test for it

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cuda_runtime.h"

#define CUDA_VERSION 13000

using CUstream = cudaStream_t;
using CUevent = cudaEvent_t;
using CUdevice = int;
using CUdevice_v1 = CUdevice;
using CUdeviceptr = unsigned long long;
using CUdeviceptr_v2 = CUdeviceptr;
using CUuuid = cudaUUID_t;
using CUcontext = struct CUctx_st*;
using CUfunction = struct CUfunc_st*;

// The numbers are the runtime API's.
enum CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_PROFILER_DISABLED = 5,
  CUDA_ERROR_PROFILER_NOT_INITIALIZED = 6,
  CUDA_ERROR_PROFILER_ALREADY_STARTED = 7,
  CUDA_ERROR_PROFILER_ALREADY_STOPPED = 8,
  CUDA_ERROR_STUB_LIBRARY = 34,
  CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER = 36,
  CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_DEVICE_NOT_LICENSED = 102,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_CONTEXT_ALREADY_CURRENT = 202,
  CUDA_ERROR_MAP_FAILED = 205,
  CUDA_ERROR_UNMAP_FAILED = 206,
  CUDA_ERROR_ARRAY_IS_MAPPED = 207,
  CUDA_ERROR_ALREADY_MAPPED = 208,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_ALREADY_ACQUIRED = 210,
  CUDA_ERROR_NOT_MAPPED = 211,
  CUDA_ERROR_NOT_MAPPED_AS_ARRAY = 212,
  CUDA_ERROR_NOT_MAPPED_AS_POINTER = 213,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_UNSUPPORTED_LIMIT = 215,
  CUDA_ERROR_CONTEXT_ALREADY_IN_USE = 216,
  CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_INVALID_GRAPHICS_CONTEXT = 219,
  CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
  CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_JIT_COMPILATION_DISABLED = 223,
  CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY = 224,
  CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC = 225,
  CUDA_ERROR_CONTAINED = 226,
  CUDA_ERROR_INVALID_SOURCE = 300,
  CUDA_ERROR_FILE_NOT_FOUND = 301,
  CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND = 302,
  CUDA_ERROR_SHARED_OBJECT_INIT_FAILED = 303,
  CUDA_ERROR_OPERATING_SYSTEM = 304,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_ILLEGAL_STATE = 401,
  CUDA_ERROR_LOSSY_QUERY = 402,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING = 703,
  CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
  CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
  CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_TOO_MANY_PEERS = 711,
  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
  CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
  CUDA_ERROR_INVALID_PC = 718,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
  CUDA_ERROR_TENSOR_MEMORY_LEAK = 721,
  CUDA_ERROR_NOT_PERMITTED = 800,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_SYSTEM_NOT_READY = 802,
  CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
  CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
  CUDA_ERROR_MPS_CONNECTION_FAILED = 805,
  CUDA_ERROR_MPS_RPC_FAILURE = 806,
  CUDA_ERROR_MPS_SERVER_NOT_READY = 807,
  CUDA_ERROR_MPS_MAX_CLIENTS_REACHED = 808,
  CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED = 809,
  CUDA_ERROR_MPS_CLIENT_TERMINATED = 810,
  CUDA_ERROR_CDP_NOT_SUPPORTED = 811,
  CUDA_ERROR_CDP_VERSION_MISMATCH = 812,
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
  CUDA_ERROR_STREAM_CAPTURE_MERGE = 902,
  CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
  CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
  CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
  CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
  CUDA_ERROR_CAPTURED_EVENT = 907,
  CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
  CUDA_ERROR_TIMEOUT = 909,
  CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
  CUDA_ERROR_EXTERNAL_DEVICE = 911,
  CUDA_ERROR_INVALID_CLUSTER_SIZE = 912,
  CUDA_ERROR_FUNCTION_NOT_LOADED = 913,
  CUDA_ERROR_INVALID_RESOURCE_TYPE = 914,
  CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION = 915,
  CUDA_ERROR_KEY_ROTATION = 916,
  CUDA_ERROR_UNKNOWN = 999
};

// Numbers are those of cudaDeviceAttr.
enum CUdevice_attribute {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
  CU_DEVICE_ATTRIBUTE_GPU_OVERLAP = 15,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17,
  CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
  CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
  CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
  CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32,
  CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
  CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
  CU_DEVICE_ATTRIBUTE_TCC_DRIVER = 35,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
  CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD = 84,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
  CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH = 120
};

constexpr unsigned CU_CTX_SCHED_AUTO = 0, CU_CTX_SCHED_SPIN = 1, CU_CTX_SCHED_YIELD = 2, CU_CTX_SCHED_BLOCKING_SYNC = 4,
                   CU_CTX_MAP_HOST = 8;
constexpr unsigned CU_STREAM_DEFAULT = cudaStreamDefault, CU_STREAM_NON_BLOCKING = cudaStreamNonBlocking;
constexpr unsigned CU_EVENT_DEFAULT = cudaEventDefault, CU_EVENT_BLOCKING_SYNC = cudaEventBlockingSync,
                   CU_EVENT_DISABLE_TIMING = cudaEventDisableTiming;
constexpr unsigned CU_MEM_ATTACH_GLOBAL = cudaMemAttachGlobal, CU_MEM_ATTACH_HOST = cudaMemAttachHost;
constexpr unsigned CU_MEMHOSTALLOC_PORTABLE = cudaHostAllocPortable, CU_MEMHOSTALLOC_DEVICEMAP = cudaHostAllocMapped;

namespace sim::driver {
inline CUresult of(cudaError_t error) { return static_cast<CUresult>(error); }
inline void* at(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
/// A device's primary context; never null, not even for device 0.
inline CUcontext context_of(CUdevice device) { return reinterpret_cast<CUcontext>(std::intptr_t{device} + 1); }
inline int device_of(CUcontext context) { return static_cast<int>(reinterpret_cast<std::intptr_t>(context)) - 1; }
}  // namespace sim::driver

// ---- errors, the driver, devices

inline CUresult cuInit(unsigned flags) { return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }
inline CUresult cuDriverGetVersion(int* version) { return sim::driver::of(cudaDriverGetVersion(version)); }
inline CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = cudaGetErrorName(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}
inline CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = cudaGetErrorString(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}
inline CUresult cuDeviceGetCount(int* count) { return sim::driver::of(cudaGetDeviceCount(count)); }
inline CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  int count = 0;
  cudaGetDeviceCount(&count);
  if (!device || ordinal < 0) return CUDA_ERROR_INVALID_VALUE;
  if (ordinal >= count) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}
inline CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return sim::driver::of(cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
}
inline CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  cudaDeviceProp properties;
  const CUresult result = sim::driver::of(cudaGetDeviceProperties(&properties, device));
  if (result != CUDA_SUCCESS || length <= 0) return result;
  const std::size_t fits = std::min(std::strlen(properties.name), static_cast<std::size_t>(length) - 1);
  std::memcpy(name, properties.name, fits);
  name[fits] = '\0';
  return result;
}
inline CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  cudaDeviceProp properties;
  const CUresult result = sim::driver::of(cudaGetDeviceProperties(&properties, device));
  if (result == CUDA_SUCCESS) *bytes = properties.totalGlobalMem;
  return result;
}
inline CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  cudaDeviceProp properties;
  const CUresult result = sim::driver::of(cudaGetDeviceProperties(&properties, device));
  if (result == CUDA_SUCCESS) *uuid = properties.uuid;
  return result;
}
inline CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return sim::driver::of(cudaDeviceCanAccessPeer(can, device, peer));
}

// ---- contexts

inline CUresult cuCtxGetDevice(CUdevice* device) { return sim::driver::of(cudaGetDevice(device)); }
inline CUresult cuCtxGetCurrent(CUcontext* context) {
  CUdevice device = 0;
  const CUresult result = cuCtxGetDevice(&device);
  if (result == CUDA_SUCCESS) *context = sim::driver::context_of(device);
  return result;
}
inline CUresult cuCtxSetCurrent(CUcontext context) {
  return context ? sim::driver::of(cudaSetDevice(sim::driver::device_of(context))) : CUDA_SUCCESS;
}
inline CUresult cuCtxPushCurrent(CUcontext context) { return cuCtxSetCurrent(context); }
inline CUresult cuCtxPopCurrent(CUcontext* context) { return context ? cuCtxGetCurrent(context) : CUDA_SUCCESS; }
inline CUresult cuCtxCreate(CUcontext* context, unsigned, CUdevice device) {
  *context = sim::driver::context_of(device);
  return cuCtxSetCurrent(*context);
}
inline CUresult cuCtxCreate(CUcontext* context, void*, unsigned flags, CUdevice device) {  // CUDA 13's
  return cuCtxCreate(context, flags, device);
}
inline CUresult cuCtxDestroy(CUcontext context) { return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; }
inline CUresult cuCtxSynchronize() { return sim::driver::of(cudaDeviceSynchronize()); }
inline CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  *context = sim::driver::context_of(device);
  return CUDA_SUCCESS;
}
inline CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
inline CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return sim::driver::of(cudaDeviceEnablePeerAccess(sim::driver::device_of(peer), flags));
}
inline CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return sim::driver::of(cudaDeviceDisablePeerAccess(sim::driver::device_of(peer)));
}

// ---- memory

inline CUresult cuMemGetAddressRange(CUdeviceptr* begin, std::size_t* bytes, CUdeviceptr address) {
  void* first = nullptr;
  std::size_t size = 0;
  if (!sim::allocation_around(sim::driver::at(address), &first, &size)) return CUDA_ERROR_NOT_FOUND;
  if (begin) *begin = reinterpret_cast<CUdeviceptr>(first);
  if (bytes) *bytes = size;
  return CUDA_SUCCESS;
}
inline CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  return sim::driver::of(cudaMemGetInfo(free, total));
}
SIM_CALLED_HERE CUresult cuMemAlloc(CUdeviceptr* pointer, std::size_t bytes) {
  void* made = nullptr;
  const cudaError_t error = sim::allocate(&made, bytes, sim::memory_kind::device, SIM_CALLER);
  *pointer = reinterpret_cast<CUdeviceptr>(made);
  return sim::driver::of(error);
}
SIM_CALLED_HERE CUresult cuMemAllocManaged(CUdeviceptr* pointer, std::size_t bytes, unsigned) {
  void* made = nullptr;
  const cudaError_t error = sim::allocate(&made, bytes, sim::memory_kind::managed, SIM_CALLER);
  *pointer = reinterpret_cast<CUdeviceptr>(made);
  return sim::driver::of(error);
}
SIM_CALLED_HERE CUresult cuMemAllocHost(void** pointer, std::size_t bytes) {
  return sim::driver::of(sim::allocate(pointer, bytes, sim::memory_kind::pinned, SIM_CALLER));
}
SIM_CALLED_HERE CUresult cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return sim::driver::of(sim::allocate(pointer, bytes, sim::memory_kind::pinned, SIM_CALLER));
}
inline CUresult cuMemFree(CUdeviceptr pointer) { return sim::driver::of(cudaFree(sim::driver::at(pointer))); }
inline CUresult cuMemFreeHost(void* pointer) { return sim::driver::of(cudaFreeHost(pointer)); }
inline CUresult cuMemHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  return sim::driver::of(cudaHostRegister(pointer, bytes, flags));
}
inline CUresult cuMemHostUnregister(void* pointer) { return sim::driver::of(cudaHostUnregister(pointer)); }
inline CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned) {
  void* mapped = nullptr;
  const CUresult result = sim::driver::of(sim::mapped_pointer(&mapped, host));
  *device = reinterpret_cast<CUdeviceptr>(mapped);
  return result;
}
inline CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return sim::driver::of(cudaMemcpy(sim::driver::at(to), sim::driver::at(from), bytes, cudaMemcpyDefault));
}
inline CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  return sim::driver::of(cudaMemcpy(sim::driver::at(to), from, bytes, cudaMemcpyHostToDevice));
}
inline CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  return sim::driver::of(cudaMemcpy(to, sim::driver::at(from), bytes, cudaMemcpyDeviceToHost));
}
inline CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return sim::driver::of(cudaMemcpy(sim::driver::at(to), sim::driver::at(from), bytes, cudaMemcpyDeviceToDevice));
}
inline CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return sim::driver::of(cudaMemcpyAsync(sim::driver::at(to), sim::driver::at(from), bytes, cudaMemcpyDefault, stream));
}
inline CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return sim::driver::of(cudaMemcpyAsync(sim::driver::at(to), from, bytes, cudaMemcpyHostToDevice, stream));
}
inline CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return sim::driver::of(cudaMemcpyAsync(to, sim::driver::at(from), bytes, cudaMemcpyDeviceToHost, stream));
}
inline CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return sim::driver::of(
      cudaMemcpyAsync(sim::driver::at(to), sim::driver::at(from), bytes, cudaMemcpyDeviceToDevice, stream));
}
inline CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, std::size_t count) {
  return sim::driver::of(cudaMemset(sim::driver::at(to), value, count));
}
inline CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return sim::driver::of(cudaMemsetAsync(sim::driver::at(to), value, count, stream));
}

// ---- streams and events

inline CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return sim::driver::of(cudaStreamCreateWithFlags(stream, flags));
}
inline CUresult cuStreamDestroy(CUstream stream) { return sim::driver::of(cudaStreamDestroy(stream)); }
inline CUresult cuStreamSynchronize(CUstream stream) { return sim::driver::of(cudaStreamSynchronize(stream)); }
inline CUresult cuStreamQuery(CUstream stream) { return sim::driver::of(cudaStreamQuery(stream)); }
inline CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return sim::driver::of(cudaStreamWaitEvent(stream, event, flags));
}
inline CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return sim::driver::of(cudaEventCreateWithFlags(event, flags));
}
inline CUresult cuEventDestroy(CUevent event) { return sim::driver::of(cudaEventDestroy(event)); }
inline CUresult cuEventRecord(CUevent event, CUstream stream) {
  return sim::driver::of(cudaEventRecord(event, stream));
}
inline CUresult cuEventSynchronize(CUevent event) { return sim::driver::of(cudaEventSynchronize(event)); }
inline CUresult cuEventQuery(CUevent event) { return sim::driver::of(cudaEventQuery(event)); }
inline CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent stop) {
  return sim::driver::of(cudaEventElapsedTime(milliseconds, start, stop));
}

// ---- launches of kernels that are linked into the program

using cudaFunction_t = CUfunction;
template <class Kernel>
cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, Kernel* kernel) {
  *function = reinterpret_cast<cudaFunction_t>(sim::kernel_address(kernel));
  return cudaSuccess;
}
inline CUresult cuLaunchKernel(CUfunction kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
                               void** arguments, void** extra) {
  if (extra) return CUDA_ERROR_NOT_SUPPORTED;
  return sim::driver::of(sim::launch_by_address(
      kernel, {dim3(grid_x, grid_y, grid_z), dim3(block_x, block_y, block_z), shared_bytes, stream, false}, arguments));
}

// ---- tensor maps: boxes of a tensor that bulk copies move

using cuuint32_t = std::uint32_t;
using cuuint64_t = std::uint64_t;
struct alignas(64) CUtensorMap {
  cuuint64_t opaque[16];
};
enum CUtensorMapDataType {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16,
  CU_TENSOR_MAP_DATA_TYPE_UINT32,
  CU_TENSOR_MAP_DATA_TYPE_INT32,
  CU_TENSOR_MAP_DATA_TYPE_UINT64,
  CU_TENSOR_MAP_DATA_TYPE_INT64,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ
};
enum CUtensorMapInterleave {
  CU_TENSOR_MAP_INTERLEAVE_NONE = 0,
  CU_TENSOR_MAP_INTERLEAVE_16B,
  CU_TENSOR_MAP_INTERLEAVE_32B
};
enum CUtensorMapSwizzle {
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B,
  CU_TENSOR_MAP_SWIZZLE_64B,
  CU_TENSOR_MAP_SWIZZLE_128B
};
enum CUtensorMapL2promotion {
  CU_TENSOR_MAP_L2_PROMOTION_NONE = 0,
  CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_256B
};
enum CUtensorMapFloatOOBfill {
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
};
/// CUDA_ERROR_INVALID_VALUE if the hardware cannot do it; the report says why.
extern "C" CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t dimensions,
                                           void* begin, const cuuint64_t* size, const cuuint64_t* pitch,
                                           const cuuint32_t* box, const cuuint32_t* step,
                                           CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                           CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);
extern "C" CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* begin);
