// The simulated device's CUDA runtime API: same names, same error codes, modelled clock. A call finishes its work
// before it returns; only the clock is asynchronous.
#pragma once

#include <cstddef>
#include <cstring>

#include "sim/call.h"
#include "sim/error.h"
#include "sim/properties.h"
#include "sim/types.h"

#define CUDART_CB

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeClusterDimMustBeSet = 10,
  cudaFuncAttributeRequiredClusterWidth = 11,
  cudaFuncAttributeRequiredClusterHeight = 12,
  cudaFuncAttributeRequiredClusterDepth = 13,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 14,
  cudaFuncAttributeClusterSchedulingPolicyPreference = 15,
};
enum cudaFuncCache {
  cudaFuncCachePreferNone = 0,
  cudaFuncCachePreferShared = 1,
  cudaFuncCachePreferL1 = 2,
  cudaFuncCachePreferEqual = 3,
};
enum cudaSharedMemConfig {
  cudaSharedMemBankSizeDefault = 0,
  cudaSharedMemBankSizeFourByte = 1,
  cudaSharedMemBankSizeEightByte = 2,
};
enum cudaSharedCarveout {
  cudaSharedmemCarveoutDefault = -1,
  cudaSharedmemCarveoutMaxL1 = 0,
  cudaSharedmemCarveoutMaxShared = 100,
};
enum cudaComputeMode {
  cudaComputeModeDefault = 0,
  cudaComputeModeExclusive = 1,
  cudaComputeModeProhibited = 2,
  cudaComputeModeExclusiveProcess = 3,
};
enum cudaLimit {
  cudaLimitStackSize = 0,
  cudaLimitPrintfFifoSize = 1,
  cudaLimitMallocHeapSize = 2,
  cudaLimitDevRuntimeSyncDepth = 3,
  cudaLimitDevRuntimePendingLaunchCount = 4,
  cudaLimitMaxL2FetchGranularity = 5,
  cudaLimitPersistingL2CacheSize = 6,
};
enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3,
};
enum cudaMemoryAdvise {
  cudaMemAdviseSetReadMostly = 1,
  cudaMemAdviseUnsetReadMostly = 2,
  cudaMemAdviseSetPreferredLocation = 3,
  cudaMemAdviseUnsetPreferredLocation = 4,
  cudaMemAdviseSetAccessedBy = 5,
  cudaMemAdviseUnsetAccessedBy = 6,
};
enum cudaMemLocationType { cudaMemLocationTypeInvalid = 0, cudaMemLocationTypeDevice = 1, cudaMemLocationTypeHost = 2 };
struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};
constexpr int cudaCpuDeviceId = -1, cudaInvalidDeviceId = -2;

constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2,
                   cudaEventInterprocess = 4, cudaEventRecordDefault = 0, cudaEventRecordExternal = 1,
                   cudaEventWaitDefault = 0, cudaEventWaitExternal = 1;
#define cudaStreamDefault 0x00  // macros, as in CUDA: programs pass the first one as a null stream
#define cudaStreamNonBlocking 0x01
constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2,
                   cudaHostAllocWriteCombined = 4;
constexpr unsigned cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2,
                   cudaHostRegisterIoMemory = 4, cudaHostRegisterReadOnly = 8;
constexpr unsigned cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaMemAttachSingle = 4;
constexpr unsigned cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1, cudaDeviceScheduleYield = 2,
                   cudaDeviceScheduleBlockingSync = 4, cudaDeviceBlockingSync = 4, cudaDeviceScheduleMask = 7,
                   cudaDeviceMapHost = 8, cudaDeviceLmemResizeToMax = 16;
constexpr unsigned cudaOccupancyDefault = 0, cudaOccupancyDisableCachingOverride = 1;

struct sim_stream;
struct sim_event;
using cudaStream_t = sim_stream*;
using cudaEvent_t = sim_event*;
#define cudaStreamLegacy (reinterpret_cast<cudaStream_t>(1))
#define cudaStreamPerThread (reinterpret_cast<cudaStream_t>(2))
using cudaHostFn_t = void (*)(void* data);
using cudaStreamCallback_t = void (*)(cudaStream_t stream, cudaError_t status, void* data);

struct cudaFuncAttributes {
  std::size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes,
      preferredShmemCarveout;
};
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
};

struct cudaPitchedPtr {
  void* ptr;
  std::size_t pitch, xsize, ysize;
};
struct cudaExtent {
  std::size_t width, height, depth;
};
struct cudaPos {
  std::size_t x, y, z;
};
using cudaArray_t = struct cudaArray*;
struct cudaMemcpy3DParms {
  cudaArray_t srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  cudaArray_t dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  cudaExtent extent;
  cudaMemcpyKind kind;
};
struct cudaMemcpy3DPeerParms {
  cudaArray_t srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  int srcDevice;
  cudaArray_t dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  int dstDevice;
  cudaExtent extent;
};
inline cudaPitchedPtr make_cudaPitchedPtr(void* pointer, std::size_t pitch, std::size_t xsize, std::size_t ysize) {
  return {pointer, pitch, xsize, ysize};
}
inline cudaExtent make_cudaExtent(std::size_t width, std::size_t height, std::size_t depth) {
  return {width, height, depth};
}
inline cudaPos make_cudaPos(std::size_t x, std::size_t y, std::size_t z) { return {x, y, z}; }

using cudaMemPool_t = struct sim_memory_pool*;
enum cudaMemPoolAttr {
  cudaMemPoolReuseFollowEventDependencies = 1,
  cudaMemPoolReuseAllowOpportunistic = 2,
  cudaMemPoolReuseAllowInternalDependencies = 3,
  cudaMemPoolAttrReleaseThreshold = 4,
  cudaMemPoolAttrReservedMemCurrent = 5,
  cudaMemPoolAttrReservedMemHigh = 6,
  cudaMemPoolAttrUsedMemCurrent = 7,
  cudaMemPoolAttrUsedMemHigh = 8,
};
enum cudaMemAllocationType { cudaMemAllocationTypeInvalid = 0, cudaMemAllocationTypePinned = 1 };
enum cudaMemAllocationHandleType {
  cudaMemHandleTypeNone = 0,
  cudaMemHandleTypePosixFileDescriptor = 1,
  cudaMemHandleTypeWin32 = 2,
  cudaMemHandleTypeWin32Kmt = 4,
};
struct cudaMemPoolProps {
  cudaMemAllocationType allocType;
  cudaMemAllocationHandleType handleTypes;
  cudaMemLocation location;
  std::size_t maxSize;
};
enum cudaMemAccessFlags {
  cudaMemAccessFlagsProtNone = 0,
  cudaMemAccessFlagsProtRead = 1,
  cudaMemAccessFlagsProtReadWrite = 3,
};
struct cudaMemAccessDesc {
  cudaMemLocation location;
  cudaMemAccessFlags flags;
};
enum cudaDeviceP2PAttr {
  cudaDevP2PAttrPerformanceRank = 1,
  cudaDevP2PAttrAccessSupported = 2,
  cudaDevP2PAttrNativeAtomicSupported = 3,
  cudaDevP2PAttrCudaArrayAccessSupported = 4,
};

struct cudaIpcMemHandle_t {
  char reserved[64];
};
struct cudaIpcEventHandle_t {
  char reserved[64];
};
struct cudaMemPoolPtrExportData {
  unsigned char reserved[64];
};
constexpr unsigned cudaIpcMemLazyEnablePeerAccess = 1;
enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess = 0,
  cudaDriverEntryPointSymbolNotFound = 1,
  cudaDriverEntryPointVersionNotSufficent = 2,
};
constexpr unsigned long long cudaEnableDefault = 0, cudaEnableLegacyStream = 1, cudaEnablePerThreadDefaultStream = 2;

extern "C" {
/// Returns only the addresses of the functions for tensor maps; reports others as missing.
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult* how = nullptr);
// ---- errors, device
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags);
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaGetDeviceFlags(unsigned* flags);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
/// Fails for a device and itself; devices that are linked have every attribute but the rank.
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value);
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit);
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config);
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config);
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config);
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);

// ---- memory
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent);
cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* pointer);
cudaError_t cudaHostGetFlags(unsigned* flags, void* pointer);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes);
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters);
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* parameters);
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void* pointer, int value, std::size_t bytes);
cudaError_t cudaMemsetAsync(void* pointer, int value, std::size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaMemset2D(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height);
cudaError_t cudaMemset2DAsync(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream = nullptr);
cudaError_t cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t keep);
/// A device may always access its own memory.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, std::size_t count);
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);

// ---- memory of other processes, which use other devices: cudaErrorNotSupported
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer);
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags);
cudaError_t cudaIpcCloseMemHandle(void* pointer);
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event);
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle);
cudaError_t cudaMemPoolExportToShareableHandle(void* handle, cudaMemPool_t pool, cudaMemAllocationHandleType type,
                                               unsigned flags);
cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t* pool, void* handle, cudaMemAllocationHandleType type,
                                                 unsigned flags);
cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData* exported, void* pointer);
cudaError_t cudaMemPoolImportPointer(void** pointer, cudaMemPool_t pool, cudaMemPoolPtrExportData* exported);

// ---- streams and events
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = nullptr, unsigned flags = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
/// Milliseconds on the modelled clock, never measured.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop);
}
inline cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                           cudaDriverEntryPointQueryResult* how = nullptr) {
  return cudaGetDriverEntryPointByVersion(name, function, 13000, flags, how);
}
template <class Function, class = std::enable_if_t<std::is_function_v<Function>>>
cudaError_t cudaGetDriverEntryPoint(const char* name, Function** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* how = nullptr) {
  return cudaGetDriverEntryPoint(name, reinterpret_cast<void**>(function), flags, how);
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags = cudaEventDefault) {
  return cudaEventCreateWithFlags(event, flags);
}

namespace sim {

/// From now on the program's host code may read and write device memory, as host libraries do.
void share_device_memory_with_host();
enum class memory_kind : unsigned char { device, managed, pinned };
/// `pc` identifies the allocating line, for the report on memory that was never freed.
cudaError_t allocate(void** pointer, std::size_t bytes, memory_kind kind, const void* pc);
/// The same in stream order: if the stream is being captured, each launch of the graph allocates this address.
cudaError_t allocate_async(void** pointer, std::size_t bytes, cudaStream_t stream, const void* pc);
cudaError_t allocate_pitched(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height, const void* pc);
cudaError_t mapped_pointer(void** device, void* host);
/// The allocation of device, pinned or managed memory that contains an address; false if there is none.
bool allocation_around(const void* address, void** begin, std::size_t* bytes);
cudaError_t set_kernel_attribute(const void* kernel, cudaFuncAttribute attribute, int value);
cudaError_t copy_symbol(void* symbol, std::size_t symbol_bytes, std::size_t offset, void* other, std::size_t bytes,
                        bool to_symbol, const cudaStream_t* stream);  // a null pointer: the host waits
cudaError_t symbol_address(void** pointer, const void* symbol, std::size_t bytes);
cudaError_t kernel_attributes(cudaFuncAttributes* attributes, const void* kernel);
cudaError_t prefetch(const void* pointer, std::size_t bytes, cudaMemLocation where, cudaStream_t stream);
cudaError_t advise(const void* pointer, std::size_t bytes, cudaMemoryAdvise advice, cudaMemLocation where);
/// How many blocks fit on one multiprocessor.
cudaError_t occupancy(int* blocks, const void* kernel, int threads, std::size_t dynamic_shared_bytes);

inline cudaMemLocation location_of(int device) {
  return device == cudaCpuDeviceId ? cudaMemLocation{cudaMemLocationTypeHost, 0}
                                   : cudaMemLocation{cudaMemLocationTypeDevice, device};
}

}  // namespace sim

// ---- calls that CUDA overloads on the types of their arguments

template <class T>
SIM_CALLED_HERE cudaError_t cudaMalloc(T** pointer, std::size_t bytes) {
  return sim::allocate(reinterpret_cast<void**>(pointer), bytes, sim::memory_kind::device, SIM_CALLER);
}
template <class T>
SIM_CALLED_HERE cudaError_t cudaMallocManaged(T** pointer, std::size_t bytes, unsigned = cudaMemAttachGlobal) {
  return sim::allocate(reinterpret_cast<void**>(pointer), bytes, sim::memory_kind::managed, SIM_CALLER);
}
template <class T>
SIM_CALLED_HERE cudaError_t cudaMallocHost(T** pointer, std::size_t bytes, unsigned = 0) {
  return sim::allocate(reinterpret_cast<void**>(pointer), bytes, sim::memory_kind::pinned, SIM_CALLER);
}
template <class T>
SIM_CALLED_HERE cudaError_t cudaHostAlloc(T** pointer, std::size_t bytes, unsigned) {
  return sim::allocate(reinterpret_cast<void**>(pointer), bytes, sim::memory_kind::pinned, SIM_CALLER);
}
template <class T>
SIM_CALLED_HERE cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaStream_t stream) {
  return sim::allocate_async(reinterpret_cast<void**>(pointer), bytes, stream, SIM_CALLER);
}
template <class T>
SIM_CALLED_HERE cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaMemPool_t, cudaStream_t stream) {
  return sim::allocate_async(reinterpret_cast<void**>(pointer), bytes, stream, SIM_CALLER);
}
template <class T>
SIM_CALLED_HERE cudaError_t cudaMallocFromPoolAsync(T** pointer, std::size_t bytes, cudaMemPool_t,
                                                    cudaStream_t stream) {
  return sim::allocate_async(reinterpret_cast<void**>(pointer), bytes, stream, SIM_CALLER);
}
template <class T>
SIM_CALLED_HERE cudaError_t cudaMallocPitch(T** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  return sim::allocate_pitched(reinterpret_cast<void**>(pointer), pitch, width, height, SIM_CALLER);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned) {
  return sim::mapped_pointer(reinterpret_cast<void**>(device), host);
}

template <class T>
cudaError_t cudaFuncSetAttribute(T* kernel, cudaFuncAttribute attribute, int value) {
  return sim::set_kernel_attribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
template <class T>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, T* kernel) {
  return sim::kernel_attributes(attributes, reinterpret_cast<const void*>(kernel));
}
template <class T>
cudaError_t cudaFuncSetCacheConfig(T*, cudaFuncCache) {
  return cudaSuccess;
}
template <class T>
cudaError_t cudaFuncSetSharedMemConfig(T*, cudaSharedMemConfig) {
  return cudaSuccess;
}

template <class T>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T* kernel, int threads,
                                                          std::size_t dynamic_shared_bytes) {
  return sim::occupancy(blocks, reinterpret_cast<const void*>(kernel), threads, dynamic_shared_bytes);
}
template <class T>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, T* kernel, int threads,
                                                                   std::size_t dynamic_shared_bytes, unsigned) {
  return sim::occupancy(blocks, reinterpret_cast<const void*>(kernel), threads, dynamic_shared_bytes);
}
/// The largest block size that gives the most resident threads, and the grid that then fills the device.
template <class T, class SharedBytes>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, T* kernel, SharedBytes shared_bytes,
                                                           int limit = 0) {
  if (!grid || !block) return cudaErrorInvalidValue;
  int processors = 0, best = 0;
  if (const cudaError_t error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0)) return error;
  for (int threads = limit > 0 && limit < 1024 ? limit : 1024; threads > 0;
       threads -= threads % 32 ? threads % 32 : 32) {
    int blocks = 0;
    if (const cudaError_t error =
            sim::occupancy(&blocks, reinterpret_cast<const void*>(kernel), threads, shared_bytes(threads)))
      return error;
    if (blocks * threads <= best) continue;
    best = blocks * threads;
    *block = threads;
    *grid = blocks * processors;
  }
  return best > 0 ? cudaSuccess : cudaErrorInvalidValue;
}
template <class T>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, T* kernel, std::size_t dynamic_shared_bytes = 0,
                                               int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      grid, block, kernel, [=](int) { return dynamic_shared_bytes; }, limit);
}
template <class T>
cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, T* kernel,
                                                        std::size_t dynamic_shared_bytes = 0, int limit = 0,
                                                        unsigned = cudaOccupancyDefault) {
  return cudaOccupancyMaxPotentialBlockSize(grid, block, kernel, dynamic_shared_bytes, limit);
}
template <class T>
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, T* kernel, int blocks, int threads) {
  int on_device = 0, optin = 0, resident = 0;
  cudaDeviceGetAttribute(&on_device, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0);
  cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  if (const cudaError_t error = sim::occupancy(&resident, reinterpret_cast<const void*>(kernel), threads, 0))
    return error;
  if (!bytes || blocks < 1 || blocks > resident) return cudaErrorInvalidValue;
  const int share = on_device / blocks - 1024;
  *bytes = static_cast<std::size_t>(share < optin ? share : optin);
  return cudaSuccess;
}

template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
                               cudaMemcpyKind = cudaMemcpyHostToDevice) {
  return sim::copy_symbol((void*)&symbol, sizeof symbol, offset, const_cast<void*>(from), bytes, true, nullptr);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t bytes, std::size_t offset,
                                    cudaMemcpyKind, cudaStream_t stream = nullptr) {
  return sim::copy_symbol((void*)&symbol, sizeof symbol, offset, const_cast<void*>(from), bytes, true, &stream);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes, std::size_t offset = 0,
                                 cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  return sim::copy_symbol((void*)&symbol, sizeof symbol, offset, to, bytes, false, nullptr);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t bytes, std::size_t offset, cudaMemcpyKind,
                                      cudaStream_t stream = nullptr) {
  return sim::copy_symbol((void*)&symbol, sizeof symbol, offset, to, bytes, false, &stream);
}
template <class Pointer, class T>
cudaError_t cudaGetSymbolAddress(Pointer** pointer, const T& symbol) {
  return sim::symbol_address((void**)pointer, &symbol, sizeof symbol);
}
template <class T>
cudaError_t cudaGetSymbolSize(std::size_t* bytes, const T& symbol) {
  if (!bytes) return cudaErrorInvalidValue;
  *bytes = sizeof symbol;
  return cudaSuccess;
}

// CUDA 13 takes a location where CUDA 12 took a device, with -1 for the host.
inline cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, int device,
                                        cudaStream_t stream = nullptr) {
  return sim::prefetch(pointer, bytes, sim::location_of(device), stream);
}
inline cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, cudaMemLocation where, unsigned,
                                        cudaStream_t stream = nullptr) {
  return sim::prefetch(pointer, bytes, where, stream);
}
inline cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise advice, int device) {
  return sim::advise(pointer, bytes, advice, sim::location_of(device));
}
inline cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise advice,
                                 cudaMemLocation where) {
  return sim::advise(pointer, bytes, advice, where);
}
template <class T>
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, T*, std::size_t = 0, unsigned = cudaMemAttachSingle) {
  return cudaSuccess;
}
