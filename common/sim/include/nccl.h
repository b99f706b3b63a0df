// NCCL: collectives between the simulated devices of one or several processes on the same machine. See
// common/sim/README.md.
#pragma once

#define NCCL_H_

#include <climits>
#include <cstddef>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_fp8.h"
#include "cuda_runtime.h"

#define NCCL_MAJOR 2
#define NCCL_MINOR 22
#define NCCL_PATCH 3
#define NCCL_SUFFIX ""
#define NCCL_VERSION_CODE 22203
#define NCCL_VERSION(X, Y, Z) (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))
#define NCCL_COMM_NULL nullptr
#define NCCL_UNIQUE_ID_BYTES 128
#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR nullptr
#define NCCL_SPLIT_NOCOLOR -1

typedef struct ncclComm* ncclComm_t;
struct ncclUniqueId {
  char internal[NCCL_UNIQUE_ID_BYTES];
};
enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclNumResults = 8
};
enum ncclDataType_t {
  ncclInt8 = 0,
  ncclChar = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclFloat64 = 8,
  ncclDouble = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12
};
enum ncclRedOp_t {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5,
  ncclMaxRedOp = 0x7fffffff
};
enum ncclScalarResidence_t { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 };
/// How NCCL uses its threads and links; no effect here.
struct ncclConfig_t {
  std::size_t size = sizeof(ncclConfig_t);
  unsigned magic = 0xcafebeef, version = NCCL_VERSION_CODE;
  int blocking = NCCL_CONFIG_UNDEF_INT, cgaClusterSize = NCCL_CONFIG_UNDEF_INT, minCTAs = NCCL_CONFIG_UNDEF_INT,
      maxCTAs = NCCL_CONFIG_UNDEF_INT;
  const char* netName = nullptr;
  int splitShare = NCCL_CONFIG_UNDEF_INT, trafficClass = NCCL_CONFIG_UNDEF_INT;
  const char* commName = nullptr;
  int collnetEnable = NCCL_CONFIG_UNDEF_INT, CTAPolicy = NCCL_CONFIG_UNDEF_INT, shrinkShare = NCCL_CONFIG_UNDEF_INT,
      nvlsCTAs = NCCL_CONFIG_UNDEF_INT, nChannelsPerNetPeer = NCCL_CONFIG_UNDEF_INT,
      nvlinkCentricSched = NCCL_CONFIG_UNDEF_INT;
};
#define NCCL_CONFIG_INITIALIZER \
  {}

extern "C" {

ncclResult_t ncclGetVersion(int* version);
const char* ncclGetErrorString(ncclResult_t result);
/// Describes the last failed call.
const char* ncclGetLastError(ncclComm_t comm);
ncclResult_t ncclMemAlloc(void** pointer, std::size_t bytes);
ncclResult_t ncclMemFree(void* pointer);

ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config);
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int devices, const int* list);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t* config);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error);
ncclResult_t ncclCommCount(const ncclComm_t comm, int* ranks);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank);
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, std::size_t bytes, void** handle);
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle);
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);

ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream);
/// `receive_count` elements for each rank, from an input with that many per rank.
ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t receive_count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclBcast(void* buffer, std::size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream);
ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t send_count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAlltoAll(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream);
ncclResult_t ncclGather(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSend(const void* send, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* receive, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);

ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();

}  // extern "C"
