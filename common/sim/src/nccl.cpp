// NCCL's collectives. Each rank writes what the others need as a file in a folder that belongs to the communicator, and
// reads theirs: so threads, groups of one thread, and processes need no different code.
#include "nccl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "copy_order.hpp"
#include "devices.hpp"
#include "faults.hpp"
#include "heap.hpp"
#include "launches.hpp"
#include "library.hpp"
#include "lines.hpp"
#include "model.hpp"
#include "report.hpp"
#include "runtime.hpp"
#include "sim/float8.h"
#include "streams.hpp"

namespace fs = std::filesystem;
using namespace sim;

struct ncclComm {
  fs::path folder;
  int ranks = 0, rank = 0, device = 0;
  std::vector<int> devices;                                ///< of the ranks, as the machine numbers them
  std::uint64_t collectives = 0;                           ///< so far
  std::vector<std::uint64_t> sent, got;                    ///< messages, by peer
  std::vector<std::pair<ncclDataType_t, double>> factors;  ///< of ncclRedOpCreatePreMulSum
  std::uint64_t finished = 0;                              ///< of them
  std::vector<std::pair<std::uint64_t, fs::path>> own;     ///< files of this rank, by the collective's number
  pid_t process = getpid();                                ///< a fork's copy is not a rank
};

namespace {

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
constexpr const char* names[] = {"ncclAllReduce", "ncclReduce",   "ncclReduceScatter", "ncclBroadcast",
                                 "ncclAllGather", "ncclAlltoAll", "ncclGather",        "ncclScatter",
                                 "ncclSend",      "ncclRecv",     "ncclCommInitRank",  "ncclCommSplit"};
const char* name_of(collective what) { return names[static_cast<int>(what)]; }

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
  std::uint64_t number = 0;                ///< of this communicator's collectives, or of the pair's messages
  std::function<ncclResult_t()> finished;  ///< of `join` and `split`: what the rank does when all have come
};

/// What a rank says of its call; its bytes follow, then the items that its stream comes after.
struct header {
  collective what{};
  ncclDataType_t type{};
  ncclRedOp_t op{};
  int root = 0, device = 0;
  pid_t process = 0;
  std::uint64_t count = 0, bytes = 0, items = 0, finished = 0;  ///< finished: collectives, before this one
  double ready = 0;
};
struct message {
  header head;
  std::vector<char> bytes;
  std::vector<std::uint32_t> items;
};

std::mutex state_mutex;  // of these two
std::string last_error;
std::set<ncclComm*>& alive() {  // communicators of this process that have not been destroyed
  static auto& all = *new std::set<ncclComm*>;
  return all;
}
bool is_alive(ncclComm* comm) {
  const std::scoped_lock lock(state_mutex);
  return alive().contains(comm);
}

struct group_state {
  int depth = 0;
  std::vector<operation_call> calls;
};
thread_local group_state* of_thread __asm__("sim_nccl_group") = nullptr;
group_state& group() { return of_thread ? *of_thread : *(of_thread = new group_state); }

/// Not while the caller holds runtime_mutex.
ncclResult_t refuse(ncclResult_t result, const void* pc, const std::string& what) {
  const source_line at = line_of(reinterpret_cast<std::uintptr_t>(pc));
  const std::scoped_lock lock(runtime_mutex(), state_mutex);
  last_error = fmt::format("{}:{}: {}", at.file, at.line, what);
  note_fault_of_call(last_error);
  return result;
}

std::size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2: return 1;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32: return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64: return 8;
    default: return 0;
  }
}

// ---- sums

/// Integers overflow as on a GPU.
template <class T, class Combine>
T wrapping(T a, T b, Combine combine) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(combine(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  else
    return combine(a, b);
}
/// `Plain` is how an element is stored, `Value` how it is added.
template <class Plain, class Value, class Decode, class Encode>
void reduce_as(std::vector<char>& sums, const std::vector<char>& other, ncclRedOp_t op, Decode decode, Encode encode) {
  for (std::size_t i = 0; i + sizeof(Plain) <= sums.size(); i += sizeof(Plain)) {
    Plain stored, added;
    std::memcpy(&stored, &sums[i], sizeof stored);
    std::memcpy(&added, &other[i], sizeof added);
    const Value a = decode(stored), b = decode(added);
    Value result = a;
    switch (op) {
      case ncclProd: result = wrapping(a, b, std::multiplies<>()); break;
      case ncclMax: result = std::max(a, b); break;
      case ncclMin: result = std::min(a, b); break;
      default: result = wrapping(a, b, std::plus<>());
    }
    stored = encode(result);
    std::memcpy(&sums[i], &stored, sizeof stored);
  }
}
template <class Plain, class Value, class Decode, class Encode>
void scale_as(std::vector<char>& all, double factor, bool divides, Decode decode, Encode encode) {
  for (std::size_t i = 0; i + sizeof(Plain) <= all.size(); i += sizeof(Plain)) {
    Plain stored;
    std::memcpy(&stored, &all[i], sizeof stored);
    const Value x = decode(stored);
    stored = encode(divides ? static_cast<Value>(x / static_cast<Value>(factor))
                            : static_cast<Value>(x * static_cast<Value>(factor)));
    std::memcpy(&all[i], &stored, sizeof stored);
  }
}
/// Calls `use` with the functions that read and write elements of the type, and with what they are added as.
template <class Use>
void with_type(ncclDataType_t type, Use use) {
  const auto same = [](auto x) { return x; };
  const auto plain = [&](auto zero) { use(zero, zero, same, same); };
  const auto sixteen = [&](auto format) {
    using f = decltype(format);
    use(
        std::uint16_t{}, float{}, [](std::uint16_t x) { return decode<f>(x); },
        [](float x) { return encode<f>(static_cast<double>(x)); });
  };
  const auto eight = [&](auto format) {
    using f = decltype(format);
    use(
        std::uint8_t{}, float{}, [](std::uint8_t x) { return decode8<f>(x); },
        [](float x) { return encode8<f>(static_cast<double>(x), true); });
  };
  switch (type) {
    case ncclInt8: return plain(std::int8_t{});
    case ncclUint8: return plain(std::uint8_t{});
    case ncclInt32: return plain(std::int32_t{});
    case ncclUint32: return plain(std::uint32_t{});
    case ncclInt64: return plain(std::int64_t{});
    case ncclUint64: return plain(std::uint64_t{});
    case ncclFloat16: return sixteen(binary16{});
    case ncclFloat32: return plain(float{});
    case ncclFloat64: return plain(double{});
    case ncclBfloat16: return sixteen(bfloat16{});
    case ncclFloat8e4m3: return eight(e4m3{});
    case ncclFloat8e5m2: return eight(e5m2{});
    default: return;
  }
}
void add(std::vector<char>& sums, const std::vector<char>& other, ncclDataType_t type, ncclRedOp_t op) {
  with_type(type, [&](auto stored, auto value, auto decode, auto encode) {
    reduce_as<decltype(stored), decltype(value)>(sums, other, op, decode, encode);
  });
}
void scale(std::vector<char>& all, ncclDataType_t type, double factor, bool divides) {
  with_type(type, [&](auto stored, auto value, auto decode, auto encode) {
    scale_as<decltype(stored), decltype(value)>(all, factor, divides, decode, encode);
  });
}

// ---- messages

bool is_pair(collective what) { return what == collective::send || what == collective::receive; }

/// Of this rank's part of the call, or of another one's.
fs::path file_of(const operation_call& c, int rank) {
  if (c.what == collective::send) return c.comm->folder / fmt::format("m{}.{}.{}", c.comm->rank, c.root, c.number);
  if (c.what == collective::receive) return c.comm->folder / fmt::format("m{}.{}.{}", c.root, c.comm->rank, c.number);
  return c.comm->folder / fmt::format("c{}.{}", c.number, rank);
}

/// How many elements this rank sends, as one part, or one for each rank.
std::size_t elements_sent(const operation_call& c) {
  const auto ranks = static_cast<std::size_t>(c.comm->ranks);
  const bool is_root = c.comm->rank == c.root;
  switch (c.what) {
    case collective::reduce_scatter:
    case collective::all_to_all: return c.count * ranks;
    case collective::scatter: return is_root ? c.count * ranks : 0;
    case collective::broadcast: return is_root ? c.count : 0;
    case collective::receive: return 0;
    default: return c.count;
  }
}
std::size_t elements_received(const operation_call& c) {
  const auto ranks = static_cast<std::size_t>(c.comm->ranks);
  const bool is_root = c.comm->rank == c.root;
  switch (c.what) {
    case collective::all_gather:
    case collective::all_to_all: return c.count * ranks;
    case collective::gather: return is_root ? c.count * ranks : 0;
    case collective::reduce: return is_root ? c.count : 0;
    case collective::send:
    case collective::join: return 0;
    case collective::split: return 0;
    default: return c.count;
  }
}

bool write_message(const fs::path& file, const message& m) {
  const fs::path made = file.string() + ".new";  // nobody reads half a file
  std::ofstream out(made, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&m.head), sizeof m.head);
  out.write(m.bytes.data(), static_cast<std::streamsize>(m.bytes.size()));
  out.write(reinterpret_cast<const char*>(m.items.data()),
            static_cast<std::streamsize>(m.items.size() * sizeof m.items[0]));
  out.close();
  std::error_code failed;
  if (out) fs::rename(made, file, failed);
  return out && !failed;
}

/// Waits until the other rank has made its call. After a while it says which rank it waits for.
message read_message(const fs::path& file, const operation_call& c, int rank) {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  bool told = false;
  for (auto pause = std::chrono::microseconds(20); !fs::exists(file);
       pause = std::min(2 * pause, std::chrono::microseconds(2000))) {
    std::this_thread::sleep_for(pause);
    if (told || clock::now() - begin < std::chrono::seconds(5)) continue;
    told = true;
    refuse(ncclInProgress, c.pc,
           fmt::format("{} of rank {} waits for rank {}, which has not called it for 5 s; call it there, too, and if "
                       "one thread calls for several ranks, between ncclGroupStart() and ncclGroupEnd()",
                       name_of(c.what), c.comm->rank, rank));
    fmt::print(stderr, "{}\n", last_error);
  }
  message m;
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(&m.head), sizeof m.head);
  m.bytes.resize(m.head.bytes);
  in.read(m.bytes.data(), static_cast<std::streamsize>(m.bytes.size()));
  m.items.resize(m.head.items);
  in.read(reinterpret_cast<char*>(m.items.data()), static_cast<std::streamsize>(m.items.size() * sizeof m.items[0]));
  return m;
}

// ---- calls

/// While it lives, the communicator's device is current.
struct on_device_of {
  explicit on_device_of(const ncclComm* comm) : before(current_device()) { set_current_device(comm->device); }
  ~on_device_of() { set_current_device(before); }
  on_device_of(const on_device_of&) = delete;
  on_device_of& operator=(const on_device_of&) = delete;
  int before;
};

/// What is wrong with a call, if anything is.
struct objection {
  ncclResult_t result = ncclSuccess;
  std::string why;
};
objection object_to(const operation_call& c) {
  if (c.what == collective::join || c.what == collective::split) return {};
  const auto wrong = [](ncclResult_t result, const std::string& why) { return objection{result, why}; };
  if (bytes_of(c.type) == 0) return wrong(ncclInvalidArgument, "there is no such data type");
  if (c.op < ncclSum || c.op >= static_cast<int>(ncclNumOps) + static_cast<int>(c.comm->factors.size()))
    return wrong(ncclInvalidArgument, "there is no such reduction");
  if (c.root < 0 || c.root >= c.comm->ranks)
    return wrong(ncclInvalidArgument, fmt::format("rank {} of {} does not exist", c.root, c.comm->ranks));
  const on_device_of home(c.comm);
  const std::scoped_lock lock(runtime_mutex());
  if (sticky_error() != cudaSuccess) return wrong(ncclUnhandledCudaError, "a CUDA call has failed before");
  if (!is_stream(c.stream) || device_of(c.stream) != c.comm->device)
    return wrong(ncclInvalidUsage,
                 fmt::format("its stream is not one of device {}, which the communicator uses", c.comm->device));
  if (is_capturing(c.stream)) return wrong(ncclInvalidUsage, "collectives in a graph are not simulated");
  for (const auto& [what, begin, elements] :
       {std::tuple{"the send buffer", c.send, elements_sent(c)},
        std::tuple{"the receive buffer", static_cast<const char*>(c.receive), elements_received(c)}})
    if (const std::string why = outside_device_memory(begin, elements * bytes_of(c.type)); !why.empty())
      return wrong(ncclInvalidArgument, fmt::format("{} ({} bytes) {}", what, elements * bytes_of(c.type), why));
  return {};
}

/// Writes what the others need.
ncclResult_t publish(operation_call& c) {
  ncclComm& comm = *c.comm;
  c.number = c.what == collective::send      ? comm.sent[static_cast<std::size_t>(c.root)]++
             : c.what == collective::receive ? comm.got[static_cast<std::size_t>(c.root)]++
                                             : comm.collectives++;
  if (c.what == collective::receive) return ncclSuccess;
  message m;
  m.head = {c.what, c.type, c.op, c.root, number_in_machine(comm.device), getpid(), c.count, 0, 0, comm.finished, 0};
  const bool moves_memory = c.what != collective::join && c.what != collective::split;
  if (moves_memory) {
    const on_device_of home(&comm);
    const std::scoped_lock lock(runtime_mutex());
    m.bytes.assign(c.send, c.send + elements_sent(c) * bytes_of(c.type));
    copy_order(c.stream).reads(c.send, m.bytes.size());
    m.head.ready = ready_at(c.stream);
    m.items = items_before(c.stream);
    if (c.op >= ncclNumOps) {
      scale(m.bytes, c.type, comm.factors[static_cast<std::size_t>(c.op) - ncclNumOps].second, false);
      m.head.op = ncclSum;
    }
  } else {
    m.bytes.assign(c.send, c.send + c.count);
  }
  m.head.bytes = m.bytes.size();
  m.head.items = m.items.size();
  const fs::path file = file_of(c, comm.rank);
  if (!write_message(file, m))
    return refuse(ncclSystemError, c.pc,
                  fmt::format("{}: cannot write {}; is its disk full, or has another rank ended?", name_of(c.what),
                              file.string()));
  if (!is_pair(c.what)) comm.own.emplace_back(c.number, file);
  return ncclSuccess;
}

/// The bytes that this rank sends to its neighbour in the ring.
double link_bytes(const operation_call& c) {
  const double n = c.comm->ranks, bytes = static_cast<double>(c.count * bytes_of(c.type));
  const int next = (c.comm->rank + 1) % c.comm->ranks;
  switch (c.what) {
    case collective::all_reduce: return 2 * (n - 1) / n * bytes;
    case collective::reduce_scatter:
    case collective::all_gather: return (n - 1) * bytes;
    case collective::broadcast: return next == c.root ? 0 : bytes;
    case collective::reduce: return c.comm->rank == c.root ? 0 : bytes;
    default: return 0;
  }
}
/// Counts what this rank sends.
void count_links(const operation_call& c) {
  const ncclComm& comm = *c.comm;
  const auto to = [&](int rank, double bytes) {
    if (rank != comm.rank)
      count_link_of_machine(number_in_machine(comm.device), comm.devices[static_cast<std::size_t>(rank)],
                            link_use::collective, bytes);
  };
  const double bytes = static_cast<double>(c.count * bytes_of(c.type));
  if (c.what == collective::send || (c.what == collective::gather && comm.rank != c.root)) return to(c.root, bytes);
  if (c.what == collective::all_to_all || (c.what == collective::scatter && comm.rank == c.root)) {
    for (int r = 0; r < comm.ranks; ++r) to(r, bytes);
    return;
  }
  to((comm.rank + 1) % comm.ranks, link_bytes(c));
}
// Measured between two H200 (tests/goldens/nvidia-h200-links.csv): any call, and the share of a copy's rate that each
// reaches.
constexpr double call_seconds = 26e-6;
double share_of_link(collective what) {
  switch (what) {
    case collective::all_reduce:
    case collective::reduce: return 0.76;
    case collective::broadcast: return 0.9;
    case collective::all_gather:
    case collective::reduce_scatter: return 0.63;
    default: return 0.78;
  }
}
/// Of each call, how long it takes: what a group calls begins once, and its messages go both ways at the same time.
std::vector<double> seconds_of(const std::vector<operation_call>& calls) {
  const device_description& d = described_device();
  const double rate = d.link_bytes_per_second > 0 ? d.link_bytes_per_second : d.host_copy_bytes_per_second;
  std::vector<double> result;
  struct messages {
    double sent = 0, received = 0;
    std::size_t first = 0;
  };
  std::map<ncclComm*, messages> pairs;
  std::set<ncclComm*> begun;
  for (const operation_call& c : calls) {
    const double n = c.comm->ranks, bytes = static_cast<double>(c.count * bytes_of(c.type));
    double seconds = !begun.insert(c.comm).second ? 0 : n == 1 ? d.launch_seconds : call_seconds;
    if (is_pair(c.what)) {
      messages& m = pairs.try_emplace(c.comm, messages{0, 0, result.size()}).first->second;
      if (c.root != c.comm->rank) (c.what == collective::send ? m.sent : m.received) += bytes;
    } else {
      const double moved = c.what == collective::all_reduce ? 2 * (n - 1) / n * bytes
                           : c.what == collective::broadcast || c.what == collective::reduce
                               ? std::min(n - 1, 1.0) * bytes
                               : (n - 1) * bytes;
      seconds += moved / (share_of_link(c.what) * rate);
    }
    result.push_back(seconds);
  }
  for (const auto& [comm, m] : pairs)
    result[m.first] += std::max(m.sent, m.received) / (share_of_link(collective::send) * rate);
  return result;
}

/// The call as an entry of the launch log. The caller holds runtime_mutex.
void enqueue(const operation_call& c, double seconds) {
  report_at_exit();
  if (c.what != collective::receive) count_links(c);
  launched entry;
  entry.kernel = name_of(c.what);
  entry.config.stream = c.stream;
  entry.device = c.comm->device;
  entry.modelled_seconds = seconds;
  const double begin = advance_clock(c.stream, seconds);
  add_to_launch_log(std::move(entry));
  tell({stream_work::kind::kernel, name_of(c.what), c.stream, begin, seconds, 0});
}

/// Waits for what this rank needs, and finishes its part.
ncclResult_t finish(const operation_call& c, double seconds) {
  ncclComm& comm = *c.comm;
  if (c.what == collective::send) {
    const on_device_of home(&comm);
    const std::scoped_lock lock(runtime_mutex());
    enqueue(c, seconds);
    return ncclSuccess;
  }
  std::vector<message> all;
  std::vector<int> from;
  if (c.what == collective::receive)
    from.push_back(c.root);
  else
    for (int r = 0; r < comm.ranks; ++r) from.push_back(r);
  for (const int r : from) all.push_back(read_message(file_of(c, r), c, r));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const header& other = all[i].head;
    const collective expected = c.what == collective::receive ? collective::send : c.what;
    const bool pair = c.what == collective::receive;
    if (other.what != expected)
      return refuse(ncclInvalidUsage, c.pc,
                    fmt::format("rank {} calls {} where rank {} calls {}: all ranks of a communicator make the same "
                                "calls in the same order",
                                comm.rank, name_of(c.what), from[i], name_of(other.what)));
    const bool same = other.count == c.count && other.type == c.type &&
                      (pair || (other.root == c.root && std::min(other.op, ncclNumOps) == std::min(c.op, ncclNumOps)) ||
                       c.op >= ncclNumOps);
    if (c.what != collective::join && c.what != collective::split && !same)
      return refuse(
          ncclInvalidUsage, c.pc,
          fmt::format("{}: rank {} gives {} elements of type {}, reduction {}, root {}, and rank {} {}, {}, "
                      "{}, {}: they must be the same",
                      name_of(c.what), comm.rank, c.count, static_cast<int>(c.type), static_cast<int>(c.op), c.root,
                      from[i], other.count, static_cast<int>(other.type), static_cast<int>(other.op), other.root));
  }
  if (c.what == collective::receive) {
    fs::remove(file_of(c, c.root));
  } else {
    comm.finished = c.number + 1;
    std::uint64_t by_all = c.number;
    for (const message& m : all) by_all = std::min(by_all, m.head.finished);
    std::erase_if(comm.own, [&](const auto& file) { return file.first < by_all && fs::remove(file.second); });
  }
  if (c.what == collective::join)
    for (const message& m : all) comm.devices.push_back(m.head.device);
  if (c.finished) return c.finished();

  std::vector<char> result;
  const std::size_t part = c.count * bytes_of(c.type);
  const auto slice = [&](const message& m, int which) {
    const auto begin = m.bytes.begin() + static_cast<std::ptrdiff_t>(part) * which;
    return std::vector<char>(begin, begin + static_cast<std::ptrdiff_t>(part));
  };
  const bool is_root = comm.rank == c.root;
  switch (c.what) {
    case collective::all_reduce:
    case collective::reduce:
    case collective::reduce_scatter: {
      const int which = c.what == collective::reduce_scatter ? comm.rank : 0;
      if (c.what == collective::reduce && !is_root) break;
      result = slice(all[0], which);
      for (std::size_t r = 1; r < all.size(); ++r) add(result, slice(all[r], which), c.type, c.op);
      if (c.op == ncclAvg) scale(result, c.type, comm.ranks, true);
      break;
    }
    case collective::broadcast: result = all[static_cast<std::size_t>(c.root)].bytes; break;
    case collective::scatter: result = slice(all[static_cast<std::size_t>(c.root)], comm.rank); break;
    case collective::all_gather:
    case collective::gather:
      if (c.what == collective::gather && !is_root) break;
      for (const message& m : all) result.insert(result.end(), m.bytes.begin(), m.bytes.end());
      break;
    case collective::all_to_all:
      for (const message& m : all) {
        const std::vector<char> mine = slice(m, comm.rank);
        result.insert(result.end(), mine.begin(), mine.end());
      }
      break;
    default: result = std::move(all[0].bytes);
  }

  const on_device_of home(&comm);
  const std::scoped_lock lock(runtime_mutex());
  for (const message& m : all)
    wait_in_stream(c.stream, m.head.ready, m.head.process == getpid() ? m.items : std::vector<std::uint32_t>());
  const copy_order order(c.stream);
  order.writes(c.receive, result.size());
  std::copy(result.begin(), result.end(), c.receive);
  host_wrote(c.receive, result.size());
  enqueue(c, seconds);
  return ncclSuccess;
}

/// What is wrong with two calls of one group, which may run in any order, or at the same time; "" if nothing is. Seen
/// with NCCL 2.28 between two H200.
std::string clash(const operation_call& one, const operation_call& other) {
  const auto overlap = [](const char* a, std::size_t a_bytes, const char* b, std::size_t b_bytes) {
    return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
  };
  const auto sent = [](const operation_call& c) { return c.send ? elements_sent(c) * bytes_of(c.type) : 0; };
  const auto received = [](const operation_call& c) { return c.receive ? elements_received(c) * bytes_of(c.type) : 0; };
  if (one.comm->device != other.comm->device) return {};
  const bool both_write = overlap(one.receive, received(one), other.receive, received(other));
  if (!both_write && !overlap(one.receive, received(one), other.send, sent(other)) &&
      !overlap(one.send, sent(one), other.receive, received(other)))
    return {};
  const source_line first = line_of(reinterpret_cast<std::uintptr_t>(one.pc));
  return fmt::format(
      "{} {} memory that {} at {}:{} writes, too, in the same group: the calls of a group may run in any "
      "order; give them memory of their own, or end the group between them",
      name_of(other.what), both_write ? "writes" : "uses", name_of(one.what), first.file, first.line);
}

/// All that a group has collected: first each call's own part, then what needs the others'.
ncclResult_t run(std::vector<operation_call>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (const std::string why = clash(calls[k], calls[i]); !why.empty())
        return refuse(ncclInvalidUsage, calls[i].pc, why);
  for (operation_call& c : calls)
    if (const ncclResult_t result = publish(c); result != ncclSuccess) return result;
  const std::vector<double> seconds = seconds_of(calls);
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (const ncclResult_t result = finish(calls[i], seconds[i]); result != ncclSuccess) return result;
  return ncclSuccess;
}
ncclResult_t make(operation_call c) {
  if (!is_alive(c.comm))
    return refuse(ncclInvalidArgument, c.pc, fmt::format("{}: there is no such communicator", name_of(c.what)));
  if (const objection wrong = object_to(c); wrong.result != ncclSuccess)
    return refuse(wrong.result, c.pc, fmt::format("{}: {}", name_of(c.what), wrong.why));
  if (c.count == 0 && c.what != collective::join) return ncclSuccess;
  if (group().depth > 0) {
    group().calls.push_back(std::move(c));
    return ncclSuccess;
  }
  std::vector<operation_call> one = {std::move(c)};
  return run(one);
}

/// The last rank that leaves removes the communicator's folder.
void leave(ncclComm* comm) {
  {
    const std::scoped_lock lock(state_mutex);
    alive().erase(comm);
  }
  std::error_code ignored;
  if (comm->process == getpid()) {
    std::ofstream(comm->folder / fmt::format("left.{}", comm->rank)).put('.');
    int left = 0;
    for (int r = 0; r < comm->ranks; ++r) left += fs::exists(comm->folder / fmt::format("left.{}", r), ignored);
    if (left == comm->ranks) fs::remove_all(comm->folder, ignored);
  }
  delete comm;
}
void leave_all() {
  while (!alive().empty()) leave(*alive().begin());
}

ncclComm* enter(const fs::path& folder, int ranks, int rank) {
  static const bool registered = std::atexit(leave_all) == 0;
  static_cast<void>(registered);
  auto* const comm = new ncclComm;
  comm->folder = folder;
  comm->ranks = ranks;
  comm->rank = rank;
  comm->device = current_device();
  comm->sent.resize(static_cast<std::size_t>(ranks));
  comm->got.resize(static_cast<std::size_t>(ranks));
  const std::scoped_lock lock(state_mutex);
  alive().insert(comm);
  return comm;
}

}  // namespace

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
const char* ncclGetLastError(ncclComm_t) { return last_error.c_str(); }
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
                  "ncclCommInitRank: this is no id of ncclGetUniqueId, or its communicator is gone; one process makes "
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
  double factor = 0;
  with_type(type, [&](auto stored, auto, auto decode, auto) {
    std::memcpy(&stored, scalar, sizeof stored);
    factor = static_cast<double>(decode(stored));
  });
  comm->factors.emplace_back(type, factor);
  *op = static_cast<ncclRedOp_t>(ncclNumOps + comm->factors.size() - 1);
  return ncclSuccess;
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return comm && op >= ncclNumOps ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return make({collective::all_reduce,
               comm,
               static_cast<const char*>(send),
               static_cast<char*>(receive),
               count,
               type,
               op,
               0,
               stream,
               __builtin_return_address(0),
               0,
               {}});
}
ncclResult_t ncclReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return make({collective::reduce,
               comm,
               static_cast<const char*>(send),
               static_cast<char*>(receive),
               count,
               type,
               op,
               root,
               stream,
               __builtin_return_address(0),
               0,
               {}});
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t receive_count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return make({collective::reduce_scatter,
               comm,
               static_cast<const char*>(send),
               static_cast<char*>(receive),
               receive_count,
               type,
               op,
               0,
               stream,
               __builtin_return_address(0),
               0,
               {}});
}
ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return make({collective::broadcast,
               comm,
               static_cast<const char*>(send),
               static_cast<char*>(receive),
               count,
               type,
               ncclSum,
               root,
               stream,
               __builtin_return_address(0),
               0,
               {}});
}
ncclResult_t ncclBcast(void* buffer, std::size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return make({collective::broadcast,
               comm,
               static_cast<const char*>(buffer),
               static_cast<char*>(buffer),
               count,
               type,
               ncclSum,
               root,
               stream,
               __builtin_return_address(0),
               0,
               {}});
}
ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t send_count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return make({collective::all_gather,
               comm,
               static_cast<const char*>(send),
               static_cast<char*>(receive),
               send_count,
               type,
               ncclSum,
               0,
               stream,
               __builtin_return_address(0),
               0,
               {}});
}
ncclResult_t ncclAlltoAll(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream) {
  return make({collective::all_to_all,
               comm,
               static_cast<const char*>(send),
               static_cast<char*>(receive),
               count,
               type,
               ncclSum,
               0,
               stream,
               __builtin_return_address(0),
               0,
               {}});
}
ncclResult_t ncclGather(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return make({collective::gather,
               comm,
               static_cast<const char*>(send),
               static_cast<char*>(receive),
               count,
               type,
               ncclSum,
               root,
               stream,
               __builtin_return_address(0),
               0,
               {}});
}
ncclResult_t ncclScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream) {
  return make({collective::scatter,
               comm,
               static_cast<const char*>(send),
               static_cast<char*>(receive),
               count,
               type,
               ncclSum,
               root,
               stream,
               __builtin_return_address(0),
               0,
               {}});
}
ncclResult_t ncclSend(const void* send, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return make({collective::send,
               comm,
               static_cast<const char*>(send),
               nullptr,
               count,
               type,
               ncclSum,
               peer,
               stream,
               __builtin_return_address(0),
               0,
               {}});
}
ncclResult_t ncclRecv(void* receive, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return make({collective::receive,
               comm,
               nullptr,
               static_cast<char*>(receive),
               count,
               type,
               ncclSum,
               peer,
               stream,
               __builtin_return_address(0),
               0,
               {}});
}

ncclResult_t ncclGroupStart() {
  ++group().depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (group().depth == 0)
    return refuse(ncclInvalidUsage, __builtin_return_address(0), "ncclGroupEnd() without ncclGroupStart()");
  if (--group().depth > 0) return ncclSuccess;
  std::vector<operation_call> calls = std::exchange(group().calls, {});
  return run(calls);
}

}  // extern "C"
