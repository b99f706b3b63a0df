// Streams on the modelled clock. The caller holds runtime_mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heap.hpp"
#include "sim/graph.h"

namespace sim {

struct allocation;
struct launched;

/// Advances the calling host thread's modelled clock by this many seconds, and returns the new time.
double spend_on_host(double seconds);
/// Adds work to the stream's clock and returns its start time.
double advance_clock(cudaStream_t stream, double seconds);
/// The same for a copy between host and device, which takes this long without launch overhead. Copies in one direction
/// run one after another in any stream. The host is busy while it copies pageable memory itself.
double advance_clock_by_copy(cudaStream_t stream, double seconds, bool to_device, bool host_is_busy);
/// The same for a copy between devices: copies from one device run one after another.
double advance_clock_by_link(cudaStream_t stream, double seconds, int from, int to);
/// The gap in a stream between the end of one launch and the start of the next; none within a graph.
double launch_gap();
double gap_after_graph();  ///< of a graph's last kernel, after which launch_gap() was 0
/// During its lifetime, work belongs to a graph that was launched by the function whose stack frame ends at this
/// address.
struct graph_at_work {
  explicit graph_at_work(std::uintptr_t frame);
  ~graph_at_work();
  graph_at_work(const graph_at_work&) = delete;  // counts
  graph_at_work& operator=(const graph_at_work&) = delete;
};
/// Whether this address belonged, at the running graph's capture, to a local variable of a function that has since
/// returned.
bool is_dead_variable(std::uintptr_t address);
/// Whether the program has created a stream.
bool several_streams();
/// Calls since the program's start that give a stream work, allocate, free, or make the host wait. A graph launch is
/// one call; so is each call that a capture records.
extern std::uint64_t api_calls;
/// A stream's activity from one moment of the modelled clock to another.
struct stream_work {
  enum class kind { kernel, copy, fill } what;
  const char* name;
  cudaStream_t stream;
  double begin, seconds, bytes;
  std::uint16_t epoch = 0;  ///< of a copy or fill, if there are several streams
  bool pageable = false;    ///< a copy of unpinned memory
  int value = 0;            ///< of a fill
};
/// While a profile is recorded, called for each item by the thread that enqueued it; otherwise null.
extern void (*stream_listener)(const stream_work&);
void tell(const stream_work& what);
/// A report of two conflicting uses of memory. The later one is the host's, or its work has not been passed to tell()
/// yet.
struct overlap {
  std::string what;
  std::uint16_t epoch = 0;  ///< of the earlier work; 0: it is the copy that begins then
  double begin = 0;
};
/// The reports since the last tell(), while a profile is recorded.
extern std::vector<overlap> overlaps;
/// The stream work that one call to a function enqueued, and whether it waited, for contracts such as "launch on
/// `stream` and return without waiting".
struct stream_watch {
  struct piece {
    std::string name;
    cudaStream_t stream;
    std::size_t number;       ///< of the stream
    std::uint32_t work_item;  ///< of that stream's
    double begin, end;        ///< on the modelled clock
  };
  std::vector<piece> work;
  std::string waited;                          ///< the first call that made the host wait
  std::map<std::string, std::uint64_t> waits;  ///< by name of the call
  std::uint64_t host_launches = 0;             ///< of kernels and graphs
  double bytes_to_device = 0, pageable_bytes = 0;
  /// Bytes that graded code copied from the grader's inputs, and to an output.
  double bytes_past_loads = 0, bytes_past_stores = 0;
  std::vector<std::string> faults;
  std::set<std::pair<std::uintptr_t, std::string>> early_accesses;  ///< of the host: place, and concurrent work
};
/// Null unless a call is being watched.
extern stream_watch* watched_streams;
/// A copy that starts at time `at` uses this pinned host memory until it ends: reads it or, if `written`, writes it.
/// Call after tell().
void note_pinned_copy(cudaStream_t stream, const void* begin, std::size_t bytes, bool written, double at);
/// Reports pinned memory that the host changed before a watched or profiled call's copies from it had ended; checks all
/// copies that overlap these bytes.
void check_sources(const void* begin = nullptr, std::size_t bytes = ~std::size_t{0});
/// Call before this host memory is freed or unpinned.
void forget_pinned_copies(std::uintptr_t begin, std::uintptr_t end);
/// Names work that the host has not waited for and that may still write these bytes of pinned or managed memory or, if
/// the host `stores`, load them: "kernel k", "a copy to the host"; "" if there is none.
std::string work_in_flight_at(std::uintptr_t address, std::size_t bytes, bool stores);
/// Whether this OS thread runs a function that was passed to cudaLaunchHostFunc or cudaStreamAddCallback.
bool in_host_function();
/// Notes that `call` will make the host wait.
void note_wait(const char* call);
/// Makes the host wait on behalf of `call` for the stream's work: for all of it, or for the first pieces only.
constexpr std::uint32_t all_pieces = ~std::uint32_t{0};
cudaError_t wait_for(cudaStream_t stream, const char* call, std::uint32_t pieces = all_pieces);
std::uint32_t pieces_in(cudaStream_t stream);
/// One sentence for each way in which the watched call violated that contract.
std::vector<std::string> broken_contract(const stream_watch& watched, cudaStream_t stream);
/// The launches that the next kernel in this stream may overlap; `early`: it may begin before the previous one has
/// ended.
overlapping launches_beside(cudaStream_t stream, bool early);
/// Names a kernel that uses this allocation and may still run when the stream's next work begins, or now if `stream` is
/// null; "" if there is none.
std::string user_in_flight(std::uintptr_t allocation, const cudaStream_t* stream);
/// For cudaMallocAsync in this stream.
void note_stream_allocation(allocation& made, cudaStream_t stream);
/// Reports stream work that uses another stream's cudaMallocAsync memory if nothing orders it after that call.
void check_stream_allocation(cudaStream_t stream, std::uintptr_t address, const std::string& work);
void note_launch(cudaStream_t stream, std::uint16_t first_epoch, std::uint16_t last_epoch);
/// Call after the launch for which launches_beside() was called: an early launch after it may overlap it.
void note_dependencies(cudaStream_t stream, const launched& kernel);
bool is_stream(cudaStream_t stream);
bool is_capturing(cudaStream_t stream);
/// Adds a node to the graph that captures the stream. `replay` receives the stream in which the graph is launched.
sim_graph_node& record(cudaStream_t stream, cudaGraphNodeType type, std::function<void(cudaStream_t)> replay);
int device_of(cudaStream_t stream);
/// The stream's number in Nsight Compute and CUPTI.
std::uint32_t tool_number(cudaStream_t stream);
/// When the stream's next work can begin; and what precedes it, as the number of items in each stream.
double ready_at(cudaStream_t stream);
std::vector<std::uint32_t> items_before(cudaStream_t stream);
/// Makes the stream's next work begin at this time or later, and after these items.
void wait_in_stream(cudaStream_t stream, double until, const std::vector<std::uint32_t>& items);
/// Makes the stream's next work and these devices' default streams wait for each other.
void join_default_streams(cudaStream_t stream, std::initializer_list<int> devices);
void let_default_streams_wait(std::initializer_list<int> devices, cudaStream_t stream);
void wait_for_device(int device);
void forget_streams(int device);

}  // namespace sim
