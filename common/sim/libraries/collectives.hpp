// NCCL's calls, as its functions make them.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "nccl.h"

struct ncclComm {
  std::filesystem::path folder;
  int ranks = 0, rank = 0, device = 0;
  std::vector<int> devices;                                          ///< of the ranks, by their numbers in the machine
  std::uint64_t collectives = 0;                                     ///< so far
  std::vector<std::uint64_t> sent, got;                              ///< messages, by peer
  std::vector<std::pair<ncclDataType_t, double>> factors;            ///< of ncclRedOpCreatePreMulSum
  std::uint64_t finished = 0;                                        ///< number of finished collectives
  std::vector<std::pair<std::uint64_t, std::filesystem::path>> own;  ///< files of this rank, by the collective's number
  pid_t process = getpid();                                          ///< a fork's copy is not a rank
};

namespace sim {

enum class collective : std::uint8_t {
  all_reduce,
  reduce,
  reduce_scatter,
  broadcast,
  all_gather,
  all_to_all,
  gather,
  scatter,
  send,
  receive,
  join,
  split
};
struct operation_call {
  collective what;
  ncclComm* comm;
  const char* send;
  char* receive;
  std::size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int root;  ///< or the peer
  cudaStream_t stream;
  const void* pc;
  std::uint64_t number = 0;                ///< of this communicator's collectives, or of the messages between the pair
  std::function<ncclResult_t()> finished;  ///< for `join` and `split`: runs in the rank when all have arrived
};

/// A rank's description of its call; its bytes follow, then the items that its stream depends on.
struct header {
  collective what{};
  ncclDataType_t type{};
  ncclRedOp_t op{};
  int root = 0, device = 0;
  pid_t process = 0;
  std::uint64_t count = 0, bytes = 0, items = 0, finished = 0;  ///< finished: collectives before this one
  double ready = 0;
};
struct message {
  header head;
  std::vector<char> bytes;
  std::vector<std::uint32_t> items;
};

/// Reports what is wrong with a call at this program counter. Do not call it while holding runtime_mutex.
ncclResult_t refuse(ncclResult_t result, const void* pc, const std::string& what);
const char* last_refusal();
bool is_alive(ncclComm* comm);
/// A communicator of the current device.
ncclComm* enter(const std::filesystem::path& folder, int ranks, int rank);
void leave(ncclComm* comm);
/// Makes the call, or defers it to the end of this thread's group.
ncclResult_t make(operation_call c);
void begin_group();
/// Makes the calls of an outermost group; `pc`: the program's call.
ncclResult_t end_group(const void* pc);
/// Waits for another rank's description of its call.
message read_message(const std::filesystem::path& file, const operation_call& c, int rank);

/// While it lives, the communicator's device is current.
struct on_device_of {
  explicit on_device_of(const ncclComm* comm);
  ~on_device_of();
  on_device_of(const on_device_of&) = delete;
  on_device_of& operator=(const on_device_of&) = delete;
  int before;
};

}  // namespace sim
