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

/// The modelled clock of the calling host thread, in seconds, which this has just moved on by so many.
double spend_on_host(double seconds);
/// Returns when this starts.
double advance_clock(cudaStream_t stream, double seconds);
/// The same for a copy between host and device, which takes this long without what a launch costs: those of one
/// direction follow each other, whatever their streams. Where the host copies pageable memory itself, it is busy.
double advance_clock_by_copy(cudaStream_t stream, double seconds, bool to_device, bool host_is_busy);
/// The same for a copy from one device's memory to another's: those from the same device follow each other.
double advance_clock_by_link(cudaStream_t stream, double seconds, int from, int to);
/// What a stream waits between the beginnings of two launches, beyond the first one's time; nothing within a graph.
double launch_gap();
double gap_after_graph();  ///< the one that its last kernel did not have
/// While it lives, work belongs to a graph that was launched by a function whose stack frame ends there.
struct graph_at_work {
  explicit graph_at_work(std::uintptr_t frame);
  ~graph_at_work();
  graph_at_work(const graph_at_work&) = delete;  // counts
  graph_at_work& operator=(const graph_at_work&) = delete;
};
/// Whether a variable lay there, when the graph at work was captured, of a function that has returned since.
bool is_dead_variable(std::uintptr_t address);
/// Whether the program has made a stream.
bool several_streams();
/// Calls since the program began that give a stream work, allocate, free, or make the host wait. The launch of a graph
/// is one call; so is each call that a capture records.
extern std::uint64_t api_calls;
/// What a stream does from one moment of the modelled clock to another.
struct stream_work {
  enum class kind { kernel, copy, fill } what;
  const char* name;
  cudaStream_t stream;
  double begin, seconds, bytes;
  std::uint16_t epoch = 0;  ///< of a copy or fill, where there are several streams
  bool pageable = false;    ///< a copy of memory that is not pinned
  int value = 0;            ///< of a fill
};
/// If a profile is being taken, called for each item in the thread that enqueued it; null otherwise.
extern void (*stream_listener)(const stream_work&);
void tell(const stream_work& what);
/// A report of work that uses memory while other work may. The later one has not been told yet, or is the host.
struct overlap {
  std::string what;
  std::uint16_t epoch = 0;  ///< of the work that came before; 0: it is the copy that begins then
  double begin = 0;
};
/// Those since the last tell(), while a profile is being taken.
extern std::vector<overlap> overlaps;
/// What one call of a function enqueued in streams and whether it waited, for contracts that say "launch on `stream`
/// and return without waiting".
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
  /// Copied by graded code, from what the grader calls an input, and to an output.
  double bytes_past_loads = 0, bytes_past_stores = 0;
  std::vector<std::string> faults;
  std::set<std::pair<std::uintptr_t, std::string>> early_accesses;  ///< of the host: where, and beside which work
};
/// Null unless a call is being watched.
extern stream_watch* watched_streams;
/// A copy, which starts `at` this time, reads this pinned host memory, or `written` writes it, until it has ended; call
/// it after tell().
void note_pinned_copy(cudaStream_t stream, const void* begin, std::size_t bytes, bool written, double at);
/// Reports pinned memory that the host has changed before the copies from it of a watched or profiled call have ended,
/// of all that overlap these bytes.
void check_sources(const void* begin = nullptr, std::size_t bytes = ~std::size_t{0});
/// This host memory is about to be free, or no longer pinned.
void forget_pinned_copies(std::uintptr_t begin, std::uintptr_t end);
/// Work that the host has not waited for, and that may still write these bytes of pinned or managed memory or, if the
/// host `stores`, load them: "kernel k", "a copy to the host"; "" if there is none.
std::string work_in_flight_at(std::uintptr_t address, std::size_t bytes, bool stores);
/// Whether this OS thread runs a function of cudaLaunchHostFunc or cudaStreamAddCallback.
bool in_host_function();
/// `call` is about to make the host wait.
void note_wait(const char* call);
/// `call` makes the host wait for all work of the stream.
cudaError_t wait_for(cudaStream_t stream, const char* call);
/// One sentence for each way in which the watched call broke that contract.
std::vector<std::string> broken_contract(const stream_watch& watched, cudaStream_t stream);
/// The launches that a kernel may overlap that comes next in this stream; `early`: it may begin before the one before
/// it has ended.
overlapping launches_beside(cudaStream_t stream, bool early);
/// A kernel that uses this allocation and may still run when the stream's next work begins, or now if `stream` is null;
/// "" if there is none.
std::string user_in_flight(std::uintptr_t allocation, const cudaStream_t* stream);
/// Of cudaMallocAsync in this stream.
void note_stream_allocation(allocation& made, cudaStream_t stream);
/// Reports work of a stream that uses memory of cudaMallocAsync in another one, if nothing orders it after that call.
void check_stream_allocation(cudaStream_t stream, std::uintptr_t address, const std::string& work);
void note_launch(cudaStream_t stream, std::uint16_t first_epoch, std::uint16_t last_epoch);
/// The launch has ended of which launches_beside() has told: what an early one after it may overlap.
void note_dependencies(cudaStream_t stream, const launched& kernel);
bool is_stream(cudaStream_t stream);
bool is_capturing(cudaStream_t stream);
/// Adds to the graph that captures the stream. `replay` receives the stream that the graph is launched in.
sim_graph_node& record(cudaStream_t stream, cudaGraphNodeType type, std::function<void(cudaStream_t)> replay);
/// Which device's stream it is.
int device_of(cudaStream_t stream);
/// As Nsight Compute and CUPTI number streams.
std::uint32_t tool_number(cudaStream_t stream);
/// When work that comes next in the stream can begin, and what comes before it: the number of items of each stream.
double ready_at(cudaStream_t stream);
std::vector<std::uint32_t> items_before(cudaStream_t stream);
/// What comes next in the stream begins at this time or later, after these items, too.
void wait_in_stream(cudaStream_t stream, double until, const std::vector<std::uint32_t>& items);
/// Work that comes next in the stream waits for the default streams of these devices, and they for it.
void join_default_streams(cudaStream_t stream, std::initializer_list<int> devices);
void let_default_streams_wait(std::initializer_list<int> devices, cudaStream_t stream);
void wait_for_device(int device);
void forget_streams(int device);

}  // namespace sim
