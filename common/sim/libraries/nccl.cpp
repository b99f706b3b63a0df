// NCCL's functions.
#include "nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "collectives.hpp"
#include "devices.hpp"
#include "reductions.hpp"

namespace fs = std::filesystem;
using namespace sim;

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  if (!version) return ncclInvalidArgument;
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error";
    case ncclSystemError: return "unhandled system error";
    case ncclInternalError: return "internal error";
    case ncclInvalidArgument: return "invalid argument";
    case ncclInvalidUsage: return "invalid usage";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    default: return "unknown result code";
  }
}
const char* ncclGetLastError(ncclComm_t) { return last_refusal(); }
ncclResult_t ncclMemAlloc(void** pointer, std::size_t bytes) {
  return allocate(pointer, bytes, memory_kind::device, __builtin_return_address(0)) == cudaSuccess
             ? ncclSuccess
             : ncclUnhandledCudaError;
}
ncclResult_t ncclMemFree(void* pointer) {
  return cudaFree(pointer) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (!id) return ncclInvalidArgument;
  std::string name = (fs::temp_directory_path() / "sim-nccl-XXXXXX").string();
  if (name.size() >= sizeof id->internal || !mkdtemp(name.data()))
    return refuse(ncclSystemError, __builtin_return_address(0),
                  fmt::format("ncclGetUniqueId: cannot make a folder {}", name));
  std::memset(id->internal, 0, sizeof id->internal);
  std::memcpy(id->internal, name.c_str(), name.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  const void* const pc = __builtin_return_address(0);
  if (!comm) return ncclInvalidArgument;
  *comm = nullptr;
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return refuse(ncclInvalidArgument, pc, fmt::format("ncclCommInitRank: rank {} of {} ranks", rank, ranks));
  const fs::path folder = std::string(id.internal, strnlen(id.internal, sizeof id.internal));
  if (!fs::is_directory(folder))
    return refuse(ncclInvalidArgument, pc,
                  "ncclCommInitRank: not an id of ncclGetUniqueId, or its communicator is gone; one process makes "
                  "an id and sends it to the others");
  ncclComm* const made = enter(folder, ranks, rank);
  *comm = made;
  return make({collective::join, made, nullptr, nullptr, 0, ncclInt8, ncclSum, 0, nullptr, pc, 0, [made, pc] {
                 auto sorted = made->devices;
                 std::sort(sorted.begin(), sorted.end());
                 const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
                 if (twice == sorted.end()) return ncclSuccess;
                 return refuse(ncclInvalidUsage, pc,
                               fmt::format("ncclCommInitRank: two ranks use device {}: call cudaSetDevice first, with "
                                           "another device for each rank",
                                           *twice));
               }});
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t*) {
  return ncclCommInitRank(comm, ranks, id, rank);
}
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int devices, const int* list) {
  if (!comms || devices < 1) return ncclInvalidArgument;
  ncclUniqueId id;
  if (const ncclResult_t result = ncclGetUniqueId(&id); result != ncclSuccess) return result;
  const int before = current_device();
  ncclResult_t result = ncclGroupStart();
  for (int r = 0; r < devices && result == ncclSuccess; ++r)
    result = cudaSetDevice(list ? list[r] : r) == cudaSuccess ? ncclCommInitRank(&comms[r], devices, id, r)
                                                              : ncclInvalidArgument;
  const ncclResult_t ended = ncclGroupEnd();
  set_current_device(before);
  return result != ncclSuccess ? result : ended;
}
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t*) {
  if (!comm || !made) return ncclInvalidArgument;
  *made = nullptr;
  const void* const pc = __builtin_return_address(0);
  const auto mine = std::make_shared<std::pair<int, int>>(color, key);
  operation_call c{collective::split,
                   comm,
                   reinterpret_cast<const char*>(mine.get()),
                   nullptr,
                   sizeof *mine,
                   ncclInt8,
                   ncclSum,
                   0,
                   nullptr,
                   pc,
                   0,
                   {}};
  const std::uint64_t number = comm->collectives;
  c.finished = [=] {
    if (color < 0) return ncclSuccess;
    std::vector<std::pair<int, int>> members;  // key, rank
    for (int r = 0; r < comm->ranks; ++r) {
      const message m = read_message(comm->folder / fmt::format("c{}.{}", number, r), c, r);
      std::pair<int, int> other;
      std::memcpy(&other.first, m.bytes.data(), sizeof other.first);
      std::memcpy(&other.second, m.bytes.data() + sizeof other.first, sizeof other.second);
      if (other.first == color) members.emplace_back(other.second, r);
    }
    std::sort(members.begin(), members.end());
    const auto self =
        std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.second == comm->rank; });
    const fs::path folder = comm->folder.string() + fmt::format("-{}-{}", number, color);
    fs::create_directory(folder);
    const on_device_of home(comm);
    *made = enter(folder, static_cast<int>(members.size()), static_cast<int>(self - members.begin()));
    for (const auto& [key_of, rank] : members)
      (*made)->devices.push_back(comm->devices[static_cast<std::size_t>(rank)]);
    return ncclSuccess;
  };
  return make(std::move(c));
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) { return comm ? ncclSuccess : ncclInvalidArgument; }
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  if (!is_alive(comm))
    return refuse(ncclInvalidArgument, __builtin_return_address(0), "ncclCommDestroy: there is no such communicator");
  leave(comm);
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  if (!comm || !error) return ncclInvalidArgument;
  *error = ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int* ranks) {
  if (!comm || !ranks) return ncclInvalidArgument;
  *ranks = comm->ranks;
  return ncclSuccess;
}
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  if (!comm || !device) return ncclInvalidArgument;
  *device = comm->device;
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  if (!comm || !rank) return ncclInvalidArgument;
  *rank = comm->rank;
  return ncclSuccess;
}
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, std::size_t, void** handle) {
  if (!comm || !handle) return ncclInvalidArgument;
  *handle = buffer;
  return ncclSuccess;
}
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void*) { return comm ? ncclSuccess : ncclInvalidArgument; }
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type, ncclScalarResidence_t,
                                      ncclComm_t comm) {
  if (!op || !scalar || !comm || bytes_of(type) == 0) return ncclInvalidArgument;
  comm->factors.emplace_back(type, element_at(scalar, type));
  *op = static_cast<ncclRedOp_t>(ncclNumOps + comm->factors.size() - 1);
  return ncclSuccess;
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return comm && op >= ncclNumOps ? ncclSuccess : ncclInvalidArgument;
}

#define SIM_COLLECTIVE(what, send, receive, op, root) \
  return make({collective::what,                      \
               comm,                                  \
               static_cast<const char*>(send),        \
               static_cast<char*>(receive),           \
               count,                                 \
               type,                                  \
               op,                                    \
               root,                                  \
               stream,                                \
               __builtin_return_address(0),           \
               0,                                     \
               {}})
ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  SIM_COLLECTIVE(all_reduce, send, receive, op, 0);
}
ncclResult_t ncclReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  SIM_COLLECTIVE(reduce, send, receive, op, root);
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  SIM_COLLECTIVE(reduce_scatter, send, receive, op, 0);
}
ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  SIM_COLLECTIVE(broadcast, send, receive, ncclSum, root);
}
ncclResult_t ncclBcast(void* buffer, std::size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  SIM_COLLECTIVE(broadcast, buffer, buffer, ncclSum, root);
}
ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  SIM_COLLECTIVE(all_gather, send, receive, ncclSum, 0);
}
ncclResult_t ncclAlltoAll(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream) {
  SIM_COLLECTIVE(all_to_all, send, receive, ncclSum, 0);
}
ncclResult_t ncclGather(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  SIM_COLLECTIVE(gather, send, receive, ncclSum, root);
}
ncclResult_t ncclScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream) {
  SIM_COLLECTIVE(scatter, send, receive, ncclSum, root);
}
ncclResult_t ncclSend(const void* send, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  SIM_COLLECTIVE(send, send, nullptr, ncclSum, peer);
}
ncclResult_t ncclRecv(void* receive, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  SIM_COLLECTIVE(receive, nullptr, receive, ncclSum, peer);
}
#undef SIM_COLLECTIVE

ncclResult_t ncclGroupStart() {
  begin_group();
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() { return end_group(__builtin_return_address(0)); }

}  // extern "C"
