// Each rank writes its data to a file in the communicator's folder, and reads the others' files. The same code serves
// ranks in threads, in one thread's group, and in processes.
#include "collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "copy_order.hpp"
#include "devices.hpp"
#include "faults.hpp"
#include "launches.hpp"
#include "library.hpp"
#include "lines.hpp"
#include "model.hpp"
#include "reductions.hpp"
#include "report.hpp"
#include "runtime.hpp"
#include "streams.hpp"

namespace fs = std::filesystem;

namespace sim {
namespace {

constexpr const char* names[] = {"ncclAllReduce", "ncclReduce",   "ncclReduceScatter", "ncclBroadcast",
                                 "ncclAllGather", "ncclAlltoAll", "ncclGather",        "ncclScatter",
                                 "ncclSend",      "ncclRecv",     "ncclCommInitRank",  "ncclCommSplit"};
const char* name_of(collective what) { return names[static_cast<int>(what)]; }

std::mutex state_mutex;  // protects these two
std::string last_error;
std::set<ncclComm*>& alive() {  // communicators of this process that have not been destroyed
  static auto& all = *new std::set<ncclComm*>;
  return all;
}
struct group_state {
  int depth = 0;
  std::vector<operation_call> calls;
};
thread_local group_state* of_thread __asm__("sim_nccl_group") = nullptr;
group_state& group() { return of_thread ? *of_thread : *(of_thread = new group_state); }

}  // namespace

bool is_alive(ncclComm* comm) {
  const std::scoped_lock lock(state_mutex);
  return alive().contains(comm);
}

ncclResult_t refuse(ncclResult_t result, const void* pc, const std::string& what) {
  const source_line at = line_of(reinterpret_cast<std::uintptr_t>(pc));
  const std::scoped_lock lock(runtime_mutex(), state_mutex);
  last_error = fmt::format("{}:{}: {}", at.file, at.line, what);
  note_fault_of_call(last_error);
  return result;
}
const char* last_refusal() {
  const std::scoped_lock lock(state_mutex);
  return last_error.c_str();
}

on_device_of::on_device_of(const ncclComm* comm) : before(current_device()) { set_current_device(comm->device); }
on_device_of::~on_device_of() { set_current_device(before); }

/// After a while, prints the rank that it waits for.
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
           fmt::format("{} of rank {} waits for rank {}, which has not called it within 5 s; call it there, too; if "
                       "one thread makes the calls of several ranks, put them between ncclGroupStart() and "
                       "ncclGroupEnd()",
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

namespace {

bool is_pair(collective what) { return what == collective::send || what == collective::receive; }

/// The file with this or another rank's part of the call.
fs::path file_of(const operation_call& c, int rank) {
  if (c.what == collective::send) return c.comm->folder / fmt::format("m{}.{}.{}", c.comm->rank, c.root, c.number);
  if (c.what == collective::receive) return c.comm->folder / fmt::format("m{}.{}.{}", c.root, c.comm->rank, c.number);
  return c.comm->folder / fmt::format("c{}.{}", c.number, rank);
}

/// How many elements this rank sends: one part, or one part for each rank.
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
    case collective::join:
    case collective::split: return 0;
    default: return c.count;
  }
}

bool write_message(const fs::path& file, const message& m) {
  const fs::path made = file.string() + ".new";  // so that no reader sees a partial file
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

// ---- calls

/// Describes an error in a call; "" if there is none.
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

/// Writes the data for the other ranks.
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

/// The bytes that a rank sends to its neighbour in the ring; without a ring, the bytes that the busiest rank sends or
/// receives.
double bytes_of_busiest(const operation_call& c) {
  const double n = c.comm->ranks, bytes = static_cast<double>(c.count * bytes_of(c.type));
  switch (c.what) {
    case collective::all_reduce: return 2 * (n - 1) / n * bytes;
    case collective::broadcast:
    case collective::reduce: return std::min(n - 1, 1.0) * bytes;
    default: return (n - 1) * bytes;
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
  const int next = (comm.rank + 1) % comm.ranks;
  const bool at_end = (c.what == collective::broadcast && next == c.root) ||
                      (c.what == collective::reduce && comm.rank == c.root) || c.what == collective::gather ||
                      c.what == collective::scatter;
  if (!at_end) to(next, bytes_of_busiest(c));
}
// Measured between two H200s (tests/goldens/nvidia-h200-links.csv): the latency of every call, and the fraction of a
// copy's rate that each reaches.
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
/// The time of each call. Calls of a group begin together, and their messages travel in both directions at once.
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
    double seconds = !begun.insert(c.comm).second ? 0 : c.comm->ranks == 1 ? d.launch_seconds : call_seconds;
    if (is_pair(c.what)) {
      const double bytes = static_cast<double>(c.count * bytes_of(c.type));
      messages& m = pairs.try_emplace(c.comm, messages{0, 0, result.size()}).first->second;
      if (c.root != c.comm->rank) (c.what == collective::send ? m.sent : m.received) += bytes;
    } else {
      seconds += bytes_of_busiest(c) / (share_of_link(c.what) * rate);
    }
    result.push_back(seconds);
  }
  for (const auto& [comm, m] : pairs)
    result[m.first] += std::max(m.sent, m.received) / (share_of_link(collective::send) * rate);
  return result;
}

/// Enters the call in the launch log. The caller holds runtime_mutex.
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

/// Waits for the data that this rank needs, and finishes its part.
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

/// Describes a conflict between two calls of one group, which may run in any order or at the same time; "" if there is
/// none. Observed with NCCL 2.28 on two H200s.
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
      "order; give them separate memory, or end the group between them",
      name_of(other.what), both_write ? "writes" : "uses", name_of(one.what), first.file, first.line);
}

/// Runs a group's calls: first each call's own part, then the parts that need other ranks.
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

}  // namespace

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
void begin_group() { ++group().depth; }
ncclResult_t end_group(const void* pc) {
  if (group().depth == 0) return refuse(ncclInvalidUsage, pc, "ncclGroupEnd() without ncclGroupStart()");
  if (--group().depth > 0) return ncclSuccess;
  std::vector<operation_call> calls = std::exchange(group().calls, {});
  return run(calls);
}

/// The last rank to leave removes the communicator's folder.
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

ncclComm* enter(const fs::path& folder, int ranks, int rank) {
  static const bool registered = std::atexit([] {
                                   while (!alive().empty()) leave(*alive().begin());
                                 }) == 0;
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

}  // namespace sim
