// CUPTI's Activity API: records of the program's and the device's activity, in buffers that the program provides.
// Names, values and layouts are those of CUDA 13.0; times are nanoseconds of the modelled clock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda.h"

#define CUPTI_API_VERSION 130001
#define CUPTIAPI
#define CUPTILP64 1
#define ACTIVITY_RECORD_ALIGNMENT 8
#define SIM_RECORD [[gnu::packed, gnu::aligned(ACTIVITY_RECORD_ALIGNMENT)]]

#define CUPTI_INVALID_CONTEXT_ID 0xFFFFFFFFu
#define CUPTI_INVALID_STREAM_ID 0xFFFFFFFFu
#define CUPTI_CORRELATION_ID_UNKNOWN 0
#define CUPTI_GRID_ID_UNKNOWN 0LL
#define CUPTI_TIMESTAMP_UNKNOWN 0LL

#define SIM_CUPTI_RESULTS(RESULT)                      \
  RESULT(SUCCESS, 0)                                   \
  RESULT(ERROR_INVALID_PARAMETER, 1)                   \
  RESULT(ERROR_INVALID_DEVICE, 2)                      \
  RESULT(ERROR_INVALID_CONTEXT, 3)                     \
  RESULT(ERROR_INVALID_OPERATION, 7)                   \
  RESULT(ERROR_OUT_OF_MEMORY, 8)                       \
  RESULT(ERROR_MAX_LIMIT_REACHED, 12)                  \
  RESULT(ERROR_NOT_READY, 13)                          \
  RESULT(ERROR_NOT_COMPATIBLE, 14)                     \
  RESULT(ERROR_NOT_INITIALIZED, 15)                    \
  RESULT(ERROR_INVALID_METRIC_NAME, 17)                \
  RESULT(ERROR_QUEUE_EMPTY, 18)                        \
  RESULT(ERROR_INVALID_STREAM, 20)                     \
  RESULT(ERROR_INVALID_KIND, 21)                       \
  RESULT(ERROR_NOT_SUPPORTED, 27)                      \
  RESULT(ERROR_INSUFFICIENT_PRIVILEGES, 35)            \
  RESULT(ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, 39) \
  RESULT(ERROR_INVALID_CHIP_NAME, 46)                  \
  RESULT(ERROR_UNKNOWN, 999)
enum CUptiResult {
#define SIM_RESULT(name, number) CUPTI_##name = number,
  SIM_CUPTI_RESULTS(SIM_RESULT)
#undef SIM_RESULT
};

enum CUpti_ActivityKind {
  CUPTI_ACTIVITY_KIND_INVALID = 0,
  CUPTI_ACTIVITY_KIND_MEMCPY = 1,
  CUPTI_ACTIVITY_KIND_MEMSET = 2,
  CUPTI_ACTIVITY_KIND_KERNEL = 3,
  CUPTI_ACTIVITY_KIND_DRIVER = 4,
  CUPTI_ACTIVITY_KIND_RUNTIME = 5,
  CUPTI_ACTIVITY_KIND_DEVICE =
      8,  // can be enabled, but has no records, like the five others without a record type below
  CUPTI_ACTIVITY_KIND_CONTEXT = 9,
  CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10,
  CUPTI_ACTIVITY_KIND_NAME = 11,
  CUPTI_ACTIVITY_KIND_MARKER = 12,
  CUPTI_ACTIVITY_KIND_MARKER_DATA = 13,
  CUPTI_ACTIVITY_KIND_OVERHEAD = 17,
  CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION = 39,
  CUPTI_ACTIVITY_KIND_COUNT = 56
};
enum CUpti_ActivityFlag {
  CUPTI_ACTIVITY_FLAG_NONE = 0,
  CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC = 1 << 0,
  CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC = 1 << 0,
  CUPTI_ACTIVITY_FLAG_FLUSH_FORCED = 1 << 0,
  CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS = 1 << 0,
  CUPTI_ACTIVITY_FLAG_MARKER_START = 1 << 1,
  CUPTI_ACTIVITY_FLAG_MARKER_END = 1 << 2
};
enum CUpti_ActivityMemcpyKind {
  CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN = 0,
  CUPTI_ACTIVITY_MEMCPY_KIND_HTOD = 1,
  CUPTI_ACTIVITY_MEMCPY_KIND_DTOH = 2,
  CUPTI_ACTIVITY_MEMCPY_KIND_DTOD = 8,
  CUPTI_ACTIVITY_MEMCPY_KIND_HTOH = 9,
  CUPTI_ACTIVITY_MEMCPY_KIND_PTOP = 10
};
enum CUpti_ActivityMemoryKind {
  CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN = 0,
  CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE = 1,
  CUPTI_ACTIVITY_MEMORY_KIND_PINNED = 2,
  CUPTI_ACTIVITY_MEMORY_KIND_DEVICE = 3
};
enum CUpti_ActivityObjectKind {
  CUPTI_ACTIVITY_OBJECT_UNKNOWN = 0,
  CUPTI_ACTIVITY_OBJECT_PROCESS = 1,
  CUPTI_ACTIVITY_OBJECT_THREAD = 2,
  CUPTI_ACTIVITY_OBJECT_DEVICE = 3,
  CUPTI_ACTIVITY_OBJECT_CONTEXT = 4,
  CUPTI_ACTIVITY_OBJECT_STREAM = 5
};
enum CUpti_ActivityPartitionedGlobalCacheConfig {
  CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_UNKNOWN = 0,
  CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_NOT_SUPPORTED = 1
};
enum CUpti_ChannelType { CUPTI_CHANNEL_TYPE_INVALID = 0, CUPTI_CHANNEL_TYPE_COMPUTE = 1 };
enum CUpti_FuncShmemLimitConfig { CUPTI_FUNC_SHMEM_LIMIT_DEFAULT = 0, CUPTI_FUNC_SHMEM_LIMIT_OPTIN = 1 };
enum CUpti_ExternalCorrelationKind {
  CUPTI_EXTERNAL_CORRELATION_KIND_INVALID = 0,
  CUPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN = 1,
  CUPTI_EXTERNAL_CORRELATION_KIND_OPENACC = 2,
  CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 = 3,
  CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1 = 4,
  CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2 = 5,
  CUPTI_EXTERNAL_CORRELATION_KIND_SIZE = 6
};
enum CUpti_CallbackDomain { CUPTI_CB_DOMAIN_DRIVER_API = 1, CUPTI_CB_DOMAIN_RUNTIME_API = 2 };
using CUpti_CallbackId = std::uint32_t;

// The calls of the runtime API that have records here, each with the version in its name.
#define SIM_CUPTI_CALLS(CALL)                    \
  CALL(cudaMalloc, v3020, 20)                    \
  CALL(cudaMallocPitch, v3020, 21)               \
  CALL(cudaFree, v3020, 22)                      \
  CALL(cudaMallocHost, v3020, 25)                \
  CALL(cudaFreeHost, v3020, 26)                  \
  CALL(cudaMemcpy, v3020, 31)                    \
  CALL(cudaMemcpy2D, v3020, 32)                  \
  CALL(cudaMemcpyToSymbol, v3020, 39)            \
  CALL(cudaMemcpyFromSymbol, v3020, 40)          \
  CALL(cudaMemcpyAsync, v3020, 41)               \
  CALL(cudaMemcpy2DAsync, v3020, 44)             \
  CALL(cudaMemset, v3020, 49)                    \
  CALL(cudaMemset2D, v3020, 50)                  \
  CALL(cudaMemsetAsync, v3020, 51)               \
  CALL(cudaStreamCreate, v3020, 129)             \
  CALL(cudaStreamSynchronize, v3020, 131)        \
  CALL(cudaStreamQuery, v3020, 132)              \
  CALL(cudaEventCreateWithFlags, v3020, 134)     \
  CALL(cudaEventRecord, v3020, 135)              \
  CALL(cudaEventDestroy, v3020, 136)             \
  CALL(cudaEventSynchronize, v3020, 137)         \
  CALL(cudaEventQuery, v3020, 138)               \
  CALL(cudaStreamWaitEvent, v3020, 147)          \
  CALL(cudaDeviceSynchronize, v3020, 165)        \
  CALL(cudaStreamCreateWithFlags, v5000, 198)    \
  CALL(cudaStreamDestroy, v5050, 201)            \
  CALL(cudaStreamCreateWithPriority, v5050, 202) \
  CALL(cudaMallocManaged, v6000, 206)            \
  CALL(cudaLaunchKernel, v7000, 211)             \
  CALL(cudaGraphLaunch, v10000, 311)             \
  CALL(cudaMallocAsync, v11020, 373)             \
  CALL(cudaFreeAsync, v11020, 375)
enum CUpti_runtime_api_trace_cbid {
  CUPTI_RUNTIME_TRACE_CBID_INVALID = 0,
#define SIM_CALL(name, version, number) CUPTI_RUNTIME_TRACE_CBID_##name##_##version = number,
  SIM_CUPTI_CALLS(SIM_CALL)
#undef SIM_CALL
};

union CUpti_ActivityObjectKindId {
  struct {
    std::uint32_t processId, threadId;
  } pt;
  struct {
    std::uint32_t deviceId, contextId, streamId;
  } dcs;
};

// ---- records: each begins with its kind

struct SIM_RECORD CUpti_Activity {
  CUpti_ActivityKind kind;
};
/// CUPTI_ACTIVITY_KIND_KERNEL and CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL.
struct SIM_RECORD CUpti_ActivityKernel10 {
  CUpti_ActivityKind kind;
  union {
    std::uint8_t both;
    struct {
      std::uint8_t requested : 4, executed : 4;
    } config;
  } cacheConfig;
  std::uint8_t sharedMemoryConfig;
  std::uint16_t registersPerThread;
  CUpti_ActivityPartitionedGlobalCacheConfig partitionedGlobalCacheRequested, partitionedGlobalCacheExecuted;
  std::uint64_t start, end, completed;
  std::uint32_t deviceId, contextId, streamId;
  std::int32_t gridX, gridY, gridZ, blockX, blockY, blockZ;
  std::int32_t staticSharedMemory, dynamicSharedMemory;
  std::uint32_t localMemoryPerThread, localMemoryTotal;
  std::uint32_t correlationId;
  std::int64_t gridId;
  const char* name;  ///< as written in the launch; on a GPU, it is mangled
  void* reserved0;
  std::uint64_t queued, submitted;
  std::uint8_t launchType, isSharedMemoryCarveoutRequested, sharedMemoryCarveoutRequested, padding;
  std::uint32_t sharedMemoryExecuted;
  std::uint64_t graphNodeId;
  CUpti_FuncShmemLimitConfig shmemLimitConfig;
  std::uint32_t graphId;
  struct CUaccessPolicyWindow_st* pAccessPolicyWindow;
  std::uint32_t channelID;
  CUpti_ChannelType channelType;
  std::uint32_t clusterX, clusterY, clusterZ, clusterSchedulingPolicy;
  std::uint64_t localMemoryTotal_v2;
  std::uint32_t maxPotentialClusterSize, maxActiveClusters;
  std::uint8_t isDeviceLaunched, padding3[7];
};
struct SIM_RECORD CUpti_ActivityMemcpy6 {
  CUpti_ActivityKind kind;
  std::uint8_t copyKind, srcKind, dstKind, flags;
  std::uint64_t bytes, start, end;
  std::uint32_t deviceId, contextId, streamId, correlationId, runtimeCorrelationId, pad;
  void* reserved0;
  std::uint64_t graphNodeId;
  std::uint32_t graphId, channelID;
  CUpti_ChannelType channelType;
  std::uint8_t isDeviceLaunched, pad2[3];
  std::uint64_t copyCount;
};
struct SIM_RECORD CUpti_ActivityMemset4 {
  CUpti_ActivityKind kind;
  std::uint32_t value;
  std::uint64_t bytes, start, end;
  std::uint32_t deviceId, contextId, streamId, correlationId;
  std::uint16_t flags, memoryKind;
  std::uint32_t pad;
  void* reserved0;
  std::uint64_t graphNodeId;
  std::uint32_t graphId, channelID;
  CUpti_ChannelType channelType;
  std::uint8_t isDeviceLaunched, pad2[3];
};
/// CUPTI_ACTIVITY_KIND_RUNTIME and CUPTI_ACTIVITY_KIND_DRIVER.
struct SIM_RECORD CUpti_ActivityAPI {
  CUpti_ActivityKind kind;
  CUpti_CallbackId cbid;
  std::uint64_t start, end;
  std::uint32_t processId, threadId, correlationId, returnValue;
};
struct SIM_RECORD CUpti_ActivityMarker2 {
  CUpti_ActivityKind kind;
  CUpti_ActivityFlag flags;
  std::uint64_t timestamp;
  std::uint32_t id;
  CUpti_ActivityObjectKind objectKind;
  CUpti_ActivityObjectKindId objectId;
  std::uint32_t pad;
  const char* name;  ///< null in the record of an end
  const char* domain;
};
struct SIM_RECORD CUpti_ActivityExternalCorrelation {
  CUpti_ActivityKind kind;
  CUpti_ExternalCorrelationKind externalKind;
  std::uint64_t externalId;
  std::uint32_t correlationId, reserved;
};

// ---- calls

using CUpti_BuffersCallbackRequestFunc = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* maxNumRecords);
using CUpti_BuffersCallbackCompleteFunc = void (*)(CUcontext context, std::uint32_t streamId, std::uint8_t* buffer,
                                                   std::size_t size, std::size_t validSize);

extern "C" {
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                                           CUpti_BuffersCallbackCompleteFunc funcBufferCompleted);
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityFlushAll(std::uint32_t flag);
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t validBufferSizeBytes, CUpti_Activity** record);
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, std::uint32_t streamId, std::size_t* dropped);
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t id);
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t* lastId);
CUptiResult cuptiGetTimestamp(std::uint64_t* timestamp);
CUptiResult cuptiGetContextId(CUcontext context, std::uint32_t* contextId);
CUptiResult cuptiGetDeviceId(CUcontext context, std::uint32_t* deviceId);
CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, std::uint32_t* streamId);
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t cbid, const char** name);
CUptiResult cuptiGetResultString(CUptiResult result, const char** str);
CUptiResult cuptiGetVersion(std::uint32_t* version);
}
