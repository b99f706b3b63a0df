// Streams, events and captured graphs. A call finishes its work before it returns; streams, events and the host follow
// a modelled clock, in seconds since the program's start.
#include "streams.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "calls.hpp"
#include "devices.hpp"
#include "faults.hpp"
#include "graphs.hpp"
#include "heap.hpp"
#include "hooks.hpp"
#include "host_functions.hpp"
#include "launches.hpp"
#include "lines.hpp"
#include "model.hpp"
#include "program.hpp"
#include "runtime.hpp"
#include "sim/host_accesses.hpp"
#include "sim/launch.h"

/// Everything that must happen first: for each stream, the number of its launches, copies and fills.
struct sim_order {
  std::vector<std::uint32_t> launches;
  void join(const sim_order& o) {
    if (launches.size() < o.launches.size()) launches.resize(o.launches.size());
    for (std::size_t i = 0; i < o.launches.size(); ++i) launches[i] = std::max(launches[i], o.launches[i]);
  }
  bool has(std::size_t stream, std::uint32_t number) const {
    return stream < launches.size() && launches[stream] >= number;
  }
};
struct sim_stream {
  double busy_until = 0;
  sim_order before;
  std::size_t number;
  std::uint32_t launches = 0;
  std::uint32_t last_kernel = 0;
  /// Launches that may still run when a later kernel begins early, or after it has waited for its predecessor.
  sim::epochs run_at_begin, run_after_wait;
  bool blocking = true;  // it and the default stream wait for each other
  int priority = 0;
  sim_graph* captured = nullptr;
  bool began_capture = false;
  int device;
  explicit sim_stream(std::size_t n, int of_device) : number(n), device(of_device) {}
};
struct sim_event {
  double at = -1;
  int device = 0;
  sim_order before;
  bool timed = true;
  sim_graph* captured = nullptr;
  std::string asked_early;  ///< the report, if its time was queried before it was known
};

namespace sim {
namespace {

/// The streams of each device, and its copy engines.
struct device_clock {
  sim_stream legacy, per_thread;
  sim_stream destroyed,
      destroyed_apart;  // work of destroyed streams; apart: of those that do not wait for the default stream
  double copies_to_device_end = 0, copies_to_host_end = 0;
  std::array<double, most_devices> copies_from_end{};  // by source device
  explicit device_clock(int device)
      : legacy(static_cast<std::size_t>(2 * device), device),
        per_thread(static_cast<std::size_t>(2 * device + 1), device),
        destroyed(legacy.number, device),
        destroyed_apart(legacy.number, device) {}
};

struct clock_state {
  sim_order host;
  std::vector<device_clock> devices;
  std::size_t made;  // streams so far
  std::vector<sim_stream*> streams;
  std::vector<sim_event*> events;
  int graphs_at_work = 0;
  bool gap_left_out = false;  // after the latest launch
  clock_state() : made(static_cast<std::size_t>(2 * most_devices)) {
    for (int d = 0; d < most_devices; ++d) devices.emplace_back(d);
  }
} clocks;

device_clock& clock_of(int device) { return clocks.devices[static_cast<std::size_t>(device)]; }

/// This host thread's time: threads do not wait for each other. A new thread's clock starts at the first thread's time.
double first_now = 0;
thread_local double own_now __asm__("sim_own_now") = -1;
double& host_now() {
  if (own_now >= 0) return own_now;
  if (getpid() == gettid()) return first_now;
  return own_now = first_now;
}

constexpr double poll_seconds = 1e-6;  // what one query costs the host

/// Reported, because most programs ignore the error and print their variable's value.
std::string note_no_time(cudaError_t error, const std::string& why) {
  const source_line at = line_of(reinterpret_cast<std::uintptr_t>(call_of_program()));
  std::string what =
      fmt::format("{}:{}: cudaEventElapsedTime failed with {}: {}", at.file, at.line, cudaGetErrorName(error), why);
  note_fault_of_call(what);
  return what;
}

/// Null if there is no such stream.
sim_stream* find(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy) return &clock_of(current_device()).legacy;
  if (stream == cudaStreamPerThread) return &clock_of(current_device()).per_thread;
  return std::find(clocks.streams.begin(), clocks.streams.end(), stream) == clocks.streams.end() ? nullptr : stream;
}
bool known(cudaEvent_t event) {
  return std::find(clocks.events.begin(), clocks.events.end(), event) != clocks.events.end();
}

/// The time at which work that is enqueued in the stream now can start.
double ready(const sim_stream& s) {
  const device_clock& own = clock_of(s.device);
  double at = std::max(s.busy_until, host_now());
  if (&s == &own.legacy) {
    at = std::max({at, own.per_thread.busy_until, own.destroyed.busy_until});
    for (const sim_stream* other : clocks.streams)
      if (other->blocking && other->device == s.device) at = std::max(at, other->busy_until);
  } else if (s.blocking) {
    at = std::max(at, own.legacy.busy_until);
  }
  return at;
}

/// The work before the running host function of a stream; null in other host code.
thread_local const sim_order* host_function __asm__("sim_host_function") = nullptr;

/// The work that must precede work enqueued in the stream now.
sim_order order(const sim_stream& s) {
  const device_clock& own = clock_of(s.device);
  sim_order before = host_function ? *host_function : clocks.host;
  before.join(s.before);
  if (&s == &own.legacy) {
    before.join(own.per_thread.before);
    before.join(own.destroyed.before);
    for (const sim_stream* other : clocks.streams)
      if (other->blocking && other->device == s.device) before.join(other->before);
  } else if (s.blocking) {
    before.join(own.legacy.before);
  }
  return before;
}

/// Adds a work item to the stream and returns its number.
std::uint32_t next_item(sim_stream& s) {
  s.before = order(s);
  if (s.before.launches.size() <= s.number) s.before.launches.resize(s.number + 1);
  return s.before.launches[s.number] = ++s.launches;
}

/// Launches that the host has not waited for, by epoch.
struct launch_in_flight {
  std::size_t stream;
  std::uint32_t number;
  std::uint16_t first_epoch, last_epoch;
};
std::vector<launch_in_flight> in_flight;

/// The latest launch that is not in `before` and whose counts are `wanted`; null if there is none.
template <class Predicate>
const launched* latest_in_flight(const sim_order& before, Predicate wanted) {
  auto log = launch_log().rbegin();
  for (auto l = in_flight.rbegin(); l != in_flight.rend(); ++l) {
    if (before.has(l->stream, l->number)) continue;
    while (log != launch_log().rend() && log->first_epoch != l->first_epoch) ++log;
    if (log == launch_log().rend()) break;
    if (wanted(log->counts)) return &*log;
  }
  return nullptr;
}

/// Pinned host memory that a copy uses until it has ended.
struct pinned_copy {
  const char* begin;
  std::size_t bytes;
  bool written;                     ///< by the copy
  double at;                        ///< when it begins
  std::optional<std::size_t> hash;  ///< of the copied bytes, for a watched or profiled call
  std::size_t number;               ///< of the stream
  std::uint32_t work_item;
  bool overlaps(const char* low, std::size_t size) const { return begin < low + size && low < begin + bytes; }
};
std::vector<pinned_copy> pinned_copies;

/// Copies that have ended before the present moment no longer use the host's memory.
void end_copies(const sim_order& before) {
  check_sources();
  std::erase_if(pinned_copies, [&](const pinned_copy& c) { return before.has(c.number, c.work_item); });
}

/// Runs a stream's host function after the stream's current work. Call it without the runtime's lock.
void run_host_function(cudaStream_t stream, const std::function<void()>& function) {
  sim_order before;
  std::size_t number = 0;
  std::uint32_t item = 0;
  {
    const std::scoped_lock lock(runtime_state_mutex());
    sim_stream& s = *find(stream);
    before = order(s);
    end_copies(before);
    number = s.number;
    item = next_item(s);
  }
  const for_now<const sim_order*> within(host_function, &before);
  if (!watch_host_function(number, item, function)) return;
  const std::scoped_lock lock(runtime_state_mutex());
  clocks.host.join(before);
}

void host_waits_until(double time, const sim_order& before) {
  end_copies(before);
  host_now() = std::max(host_now(), time);
  clocks.host.join(before);
  end_host_functions([](std::size_t stream, std::uint32_t item) { return clocks.host.has(stream, item); });
  std::erase_if(in_flight, [](const launch_in_flight& l) { return clocks.host.has(l.stream, l.number); });
}

cudaError_t query(const char* call, double until, const sim_order& before) {
  if (sticky_error() != cudaSuccess) return sticky_error();
  if (until <= host_now()) {
    // Only such queries advance the clock: the host has polled until this call's own work was done.
    const auto is_over = [&](const stream_watch::piece& p) { return before.has(p.number, p.work_item); };
    if (watched_streams && std::any_of(watched_streams->work.begin(), watched_streams->work.end(), is_over))
      note_wait(call);
    host_waits_until(until, before);
    return cudaSuccess;
  }
  host_now() += poll_seconds;
  if (watched_streams) ++watched_streams->waits["not ready"];
  return cudaErrorNotReady;  // not an error, so not remembered
}

}  // namespace

std::uint64_t api_calls = 0;
bool is_stream(cudaStream_t stream) { return find(stream) != nullptr; }
bool is_capturing(cudaStream_t stream) {
  const sim_stream* s = find(stream);
  return s && s->captured;
}
sim_graph_node& record(cudaStream_t stream, cudaGraphNodeType type, std::function<void(cudaStream_t)> replay) {
  ++api_calls;
  sim_graph& graph = *find(stream)->captured;
  graph.nodes.push_back(std::make_shared<sim_graph_node>(sim_graph_node{type, std::move(replay), {}}));
  graph.last_captured = graph.nodes.back().get();
  return *graph.nodes.back();
}
void (*stream_listener)(const stream_work&) = nullptr;
activity_recorder* call_listener = nullptr;
activity_recorder* host_call_listener() { return in_kernel() ? nullptr : call_listener; }
std::vector<overlap> overlaps;
stream_watch* watched_streams = nullptr;

void note_wait(const char* call) {
  if (!watched_streams) return;
  if (watched_streams->waited.empty()) watched_streams->waited = call;
  ++watched_streams->waits[call];
}

void tell(const stream_work& what) {
  ++api_calls;
  sim_stream& s = *find(what.stream);
  const std::uint32_t item = next_item(s);
  if (what.what == stream_work::kind::kernel) s.last_kernel = item;
  if (watched_streams) {
    watched_streams->work.push_back({what.name, what.stream, s.number, item, what.begin, what.begin + what.seconds});
    watched_streams->host_launches += what.what == stream_work::kind::kernel && clocks.graphs_at_work == 0;
  }
  if (stream_listener) stream_listener(what);
  if (call_listener) call_listener->start(what);
}

std::vector<std::string> broken_contract(const stream_watch& watched, cudaStream_t stream) {
  std::vector<std::string> result;
  if (!watched.waited.empty()) {
    const char* how = watched.waited.ends_with("Query") ? "(), called until the work is done, waits" : "() waits";
    result.push_back(watched.waited + how + " for the device; the contract says: return without waiting");
  }
  const sim_stream* given = find(stream);
  if (!given) {
    result.emplace_back("`stream` no longer exists: it was destroyed, or the device was reset");
    return result;
  }
  const sim_order at_the_end = order(*given);
  for (const stream_watch::piece& p : watched.work) {
    if (at_the_end.has(p.number, p.work_item)) continue;
    const sim_stream* s = find(p.stream);
    result.push_back(fmt::format("'{}' is not in `stream`: it ran in {}, and `stream` does not wait for it", p.name,
                                 s && s == &clock_of(s->device).legacy ? "the default stream" : "another stream"));
    break;
  }
  return result;
}

void note_pinned_copy(cudaStream_t stream, const void* begin, std::size_t bytes, bool written, double at) {
  const auto* const from = static_cast<const char*>(begin);
  const sim_stream& s = *find(stream);
  std::optional<std::size_t> hash;
  if ((watched_streams || stream_listener) && !written) {
    check_sources(begin, bytes);
    hash = std::hash<std::string_view>()({from, bytes});
  }
  if (pinned_copies.size() == 4096) pinned_copies.erase(pinned_copies.begin(), pinned_copies.begin() + 2048);
  pinned_copies.push_back({from, bytes, written, at, hash, s.number, s.launches});
}

void check_sources(const void* begin, std::size_t bytes) {
  if (!watched_streams && !stream_listener) return;
  std::erase_if(pinned_copies, [&](const pinned_copy& c) {
    if (!c.hash || (begin && !c.overlaps(static_cast<const char*>(begin), bytes))) return false;
    if (*c.hash == std::hash<std::string_view>()({c.begin, c.bytes})) return false;
    const std::string what = fmt::format(
        "the host changed {} bytes of pinned memory while a copy to the device was reading them; first wait for "
        "an event recorded after the copy",
        c.bytes);
    note_fault_of_call(what);
    if (stream_listener) overlaps.push_back({what, 0, c.at});
    return true;
  });
}

void forget_pinned_copies(std::uintptr_t begin, std::uintptr_t end) {
  check_sources();
  std::erase_if(pinned_copies,
                [&](const pinned_copy& c) { return c.overlaps(reinterpret_cast<const char*>(begin), end - begin); });
}

std::string work_in_flight_at(std::uintptr_t address, std::size_t bytes, bool stores) {
  for (const pinned_copy& c : pinned_copies)
    if ((c.written || stores) && c.overlaps(reinterpret_cast<const char*>(address), bytes))
      return c.written ? "a copy to the host" : "a copy to the device";
  const sim_order& before = host_function ? *host_function : clocks.host;
  const launched* const user = latest_in_flight(before, [&](const launch_counts& counts) {
    // Threads that hand data to each other may also hand it to the host.
    if (counts.fenced_for_all || counts.hands_over_global) return false;
    return std::any_of(counts.sites.begin(), counts.sites.end(), [&](const auto& site) {
      const auto& [key, c] = site;
      return key.first == space::global && (stores || site_operation(key.second) != operation::load) &&
             c.low < address + bytes && address < c.high;
    });
  });
  return user ? "kernel " + user->kernel : "";
}

bool in_host_function() { return host_function != nullptr; }

bool several_streams() { return !clocks.streams.empty() || device_count() > 1; }

thread_local std::uintptr_t frame_of_graph __asm__("sim_frame_of_graph") = 0;  // 0: no graph is running
graph_at_work::graph_at_work(std::uintptr_t frame) {
  ++clocks.graphs_at_work;
  frame_of_graph = frame;
}
graph_at_work::~graph_at_work() {
  --clocks.graphs_at_work;
  frame_of_graph = 0;
}
bool is_dead_variable(std::uintptr_t address) {
  constexpr std::uintptr_t near = std::uintptr_t{1} << 26;  // stacks are rarely larger, and searching takes long
  return address < frame_of_graph && frame_of_graph - address < near && address >= stack_of_thread().begin;
}

double launch_gap() {
  const device_description& d = described_device();
  clocks.gap_left_out = clocks.graphs_at_work > 0;
  return clocks.gap_left_out ? 0 : d.launch_seconds - d.kernel_floor_seconds;
}
double gap_after_graph() { return clocks.gap_left_out ? launch_gap() : 0; }

double advance_clock_by_copy(cudaStream_t stream, double seconds, bool to_device, bool host_is_busy) {
  sim_stream* s = find(stream);
  if (!s) return 0;
  device_clock& own = clock_of(s->device);
  double& engine = to_device ? own.copies_to_device_end : own.copies_to_host_end;
  const double begin = std::max(ready(*s), engine);
  s->busy_until = begin + seconds + described_device().launch_seconds;
  engine = begin + seconds;
  if (host_is_busy) host_now() = std::max(host_now(), begin + seconds);
  return begin;
}

double advance_clock_by_link(cudaStream_t stream, double seconds, int from, int to) {
  sim_stream& s = *find(stream);
  double& link = clock_of(to).copies_from_end[static_cast<std::size_t>(from)];
  const double begin = std::max(ready(s), link);
  s.busy_until = begin + seconds + described_device().launch_seconds;
  link = begin + seconds;
  return begin;
}

double spend_on_host(double seconds) { return host_now() += seconds; }

double advance_clock(cudaStream_t stream, double seconds) {
  sim_stream* s = find(stream);
  if (!s) return 0;
  const double begin = ready(*s);
  s->busy_until = begin + seconds;
  return begin;
}
overlapping launches_beside(cudaStream_t stream, bool early) {
  static epochs concurrent;
  concurrent.reset();
  sim_stream& s = *find(stream);
  const sim_order before = order(s);
  epochs earlier;  // that the host has not waited for
  for (const launch_in_flight& l : in_flight)
    for (unsigned e = l.first_epoch; e <= l.last_epoch; ++e)
      (before.has(l.stream, l.number) ? earlier : concurrent).set(e);
  if (!early || s.last_kernel != s.launches) earlier.reset();
  const auto those = [](const epochs& all) { return all.any() ? &all : nullptr; };
  return {those(concurrent), those(s.run_at_begin &= earlier), those(s.run_after_wait &= earlier)};
}
/// The next kernel may begin once all blocks of this one have allowed it or ended. When it waits, it waits for this
/// one's end, and so for all that this one has waited for.
void note_dependencies(cudaStream_t stream, const launched& kernel) {
  sim_stream& s = *find(stream);
  const epochs at_begin = s.run_at_begin;
  if (kernel.counts.next_begins_after_wait) s.run_at_begin = s.run_after_wait;
  if (!kernel.counts.waits_for_kernel_before) s.run_after_wait = at_begin;
  for (unsigned e = kernel.first_epoch; e <= kernel.last_epoch; ++e) s.run_at_begin.set(e);
}
std::string user_in_flight(std::uintptr_t allocation, const cudaStream_t* stream) {
  if (stream && !find(*stream)) return {};
  const launched* const user =
      latest_in_flight(stream ? order(*find(*stream)) : clocks.host,
                       [&](const launch_counts& counts) { return counts.allocations.contains(allocation); });
  return user ? user->kernel : "";
}
void note_stream_allocation(allocation& made, cudaStream_t stream) {
  sim_stream* s = find(stream);
  if (!s) return;
  made.stream = s->number;
  made.work_item = next_item(*s);
}
void check_stream_allocation(cudaStream_t stream, std::uintptr_t address, const std::string& work) {
  const allocation* const a = find_allocation(address);
  if (!a || a->work_item == 0 || order(*find(stream)).has(a->stream, a->work_item)) return;
  const source_line at = line_of(a->pc);
  note_fault_of_call(fmt::format(
      "{}:{}: cudaMallocAsync of {} bytes, which {} uses in another stream: let that stream wait for an event after "
      "this call",
      at.file, at.line, a->end - a->begin, work));
}
void note_launch(cudaStream_t stream, std::uint16_t first_epoch, std::uint16_t last_epoch) {
  sim_stream& s = *find(stream);
  next_item(s);
  if (in_flight.size() == 4096) in_flight.erase(in_flight.begin(), in_flight.begin() + 2048);
  in_flight.push_back({s.number, s.launches, first_epoch, last_epoch});
}
void wait_for_device(int device) {
  const device_clock& own = clock_of(device);
  for (const sim_stream* s : {&own.legacy, &own.per_thread, &own.destroyed, &own.destroyed_apart})
    host_waits_until(s->busy_until, s->before);
  for (const sim_stream* s : clocks.streams)
    if (s->device == device) host_waits_until(s->busy_until, s->before);
}
void forget_streams(int device) {
  wait_for_device(device);
  const auto forget = [device](auto& all) {
    std::erase_if(all, [device](auto* one) {
      if (one->device != device) return false;
      delete one;
      return true;
    });
  };
  forget(clocks.streams);
  forget(clocks.events);
}
int device_of(cudaStream_t stream) { return find(stream)->device; }
std::uint32_t tool_number(cudaStream_t stream) {
  constexpr std::uint32_t of_legacy = 7, of_first_made = 13, defaults = 2 * most_devices;
  const auto number = static_cast<std::uint32_t>(find(stream)->number);
  return number < defaults ? of_legacy + number % 2 : of_first_made + number - defaults;
}
double ready_at(cudaStream_t stream) { return ready(*find(stream)); }
std::vector<std::uint32_t> items_before(cudaStream_t stream) { return order(*find(stream)).launches; }
void wait_in_stream(cudaStream_t stream, double until, const std::vector<std::uint32_t>& items) {
  sim_stream& s = *find(stream);
  s.busy_until = std::max(s.busy_until, until);
  s.before.join({items});
}
void join_default_streams(cudaStream_t stream, std::initializer_list<int> devices) {
  for (const int d : devices) {
    const sim_stream& legacy = clock_of(d).legacy;
    wait_in_stream(stream, ready(legacy), order(legacy).launches);
  }
}
void let_default_streams_wait(std::initializer_list<int> devices, cudaStream_t stream) {
  const sim_stream& s = *find(stream);
  for (const int d : devices) {
    sim_stream& legacy = clock_of(d).legacy;
    legacy.busy_until = std::max(legacy.busy_until, s.busy_until);
    legacy.before.join(s.before);
  }
}

std::uint32_t pieces_in(cudaStream_t stream) { return find(stream)->launches; }
cudaError_t wait_for(cudaStream_t stream, const char* call, std::uint32_t pieces) {
  const sim_stream* s = find(stream);
  if (!s) return fail(cudaErrorInvalidResourceHandle);
  if (s->captured) return fail(cudaErrorStreamCaptureUnsupported);
  note_wait(call);
  sim_order until = order(*s);
  if (pieces < s->launches && until.has(s->number, pieces)) until.launches[s->number] = pieces;
  host_waits_until(ready(*s), until);
  return fail(sticky_error());
}

}  // namespace sim

using namespace sim;

extern "C" {

void sim_count_objects(sim_objects* now) {
  const std::scoped_lock lock(runtime_state_mutex());  // a stream's host function may query, too
  *now = {live_allocations().size() + registered_host_memory().size(), clocks.streams.size(), clocks.events.size(),
          sim_counted::alive, 0};
  for (const allocation& a : live_allocations())
    if (a.kind == memory_kind::device) now->device_bytes += a.end - a.begin;
}

// ---- streams

cudaError_t cudaDeviceSynchronize() {
  if (in_kernel()) return cudaErrorNotSupported;  // CUDA 12 does not have it in kernels, either
  const api_call here("cudaDeviceSynchronize");
  const std::scoped_lock lock(runtime_mutex());
  ++api_calls;
  note_wait("cudaDeviceSynchronize");
  wait_for_device(current_device());
  return fail(sticky_error());
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  if (in_kernel()) {  // a kernel's launches run in order
    *stream = cudaStreamPerThread;
    return cudaSuccess;
  }
  const api_call here("cudaStreamCreateWithPriority");
  const std::scoped_lock lock(runtime_mutex());
  if (!stream || flags > cudaStreamNonBlocking) return fail(cudaErrorInvalidValue);
  *stream = new sim_stream(clocks.made++, current_device());
  (*stream)->blocking = flags != cudaStreamNonBlocking;
  (*stream)->priority = std::clamp(priority, -5, 0);
  clocks.streams.push_back(*stream);
  return sticky_error();
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const api_call here("cudaStreamCreateWithFlags");
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  const api_call here("cudaStreamCreate");
  return cudaStreamCreateWithPriority(stream, 0, 0);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return sticky_error();
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  const std::scoped_lock lock(runtime_mutex());
  const sim_stream* s = find(stream);
  if (!s || !priority) return fail(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
  *priority = s->priority;
  return sticky_error();
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  const std::scoped_lock lock(runtime_mutex());
  const sim_stream* s = find(stream);
  if (!s || !device) return fail(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
  *device = s->device;
  return sticky_error();
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  const std::scoped_lock lock(runtime_mutex());
  const sim_stream* s = find(stream);
  if (!s || !flags) return fail(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
  *flags = s->blocking ? cudaStreamDefault : cudaStreamNonBlocking;
  return sticky_error();
}
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID, const cudaStreamAttrValue* value) {
  const std::scoped_lock lock(runtime_mutex());
  if (!is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
  return value ? sticky_error() : fail(cudaErrorInvalidValue);
}
cudaError_t cudaCtxResetPersistingL2Cache() { return sticky_error(); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (in_kernel()) return cudaSuccess;
  const api_call here("cudaStreamDestroy");
  const std::scoped_lock lock(runtime_mutex());
  auto& all = clocks.streams;
  const auto found = std::find(all.begin(), all.end(), stream);
  if (found == all.end()) return fail(cudaErrorInvalidResourceHandle);
  all.erase(found);
  device_clock& own = clock_of(stream->device);
  sim_stream& heir = stream->blocking ? own.destroyed : own.destroyed_apart;
  heir.busy_until = std::max(heir.busy_until, stream->busy_until);
  heir.before.join(stream->before);
  delete stream;
  return sticky_error();
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const api_call here("cudaStreamSynchronize");
  const std::scoped_lock lock(runtime_mutex());
  ++api_calls;
  return wait_for(stream, "cudaStreamSynchronize");
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const api_call here("cudaStreamQuery");
  const std::scoped_lock lock(runtime_mutex());
  const sim_stream* s = find(stream);
  if (!s) return fail(cudaErrorInvalidResourceHandle);
  return query("cudaStreamQuery", ready(*s), order(*s));
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const api_call here("cudaStreamWaitEvent");
  const std::scoped_lock lock(runtime_mutex());
  sim_stream* s = find(stream);
  if (!s || !known(event)) return fail(cudaErrorInvalidResourceHandle);
  if (event->captured) s->captured = event->captured;  // the stream joins the capture
  s->busy_until = std::max(s->busy_until, event->at);
  s->before.join(event->before);
  return sticky_error();
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  {
    const std::scoped_lock lock(runtime_mutex());
    if (sticky_error() != cudaSuccess) return sticky_error();
    if (!is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
    if (!function) return fail(cudaErrorInvalidValue);
    if (is_capturing(stream)) {
      record(stream, cudaGraphNodeTypeHost, [=](cudaStream_t s) { cudaLaunchHostFunc(s, function, data); });
      return cudaSuccess;
    }
  }
  run_host_function(stream, [&] { function(data); });
  return cudaSuccess;
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags) {
  {
    const std::scoped_lock lock(runtime_mutex());
    if (!is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
    if (!callback || flags != 0) return fail(cudaErrorInvalidValue);
    if (is_capturing(stream)) return fail(cudaErrorStreamCaptureUnsupported);
  }
  run_host_function(stream, [&] { callback(stream, sticky_error(), data); });
  return cudaSuccess;
}

// ---- events

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const api_call here("cudaEventCreateWithFlags");
  const std::scoped_lock lock(runtime_mutex());
  if (!event || flags > 7) return fail(cudaErrorInvalidValue);
  *event = new sim_event;
  (*event)->device = current_device();
  (*event)->timed = !(flags & cudaEventDisableTiming);
  clocks.events.push_back(*event);
  return sticky_error();
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const api_call here("cudaEventDestroy");
  const std::scoped_lock lock(runtime_mutex());
  if (!known(event)) return fail(cudaErrorInvalidResourceHandle);
  std::erase(clocks.events, event);
  delete event;
  return sticky_error();
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const api_call here("cudaEventRecord");
  const std::scoped_lock lock(runtime_mutex());
  const sim_stream* s = find(stream);
  if (!known(event) || !s) return fail(cudaErrorInvalidResourceHandle);
  if (event->device != s->device) {
    const source_line at = line_of(reinterpret_cast<std::uintptr_t>(call_of_program()));
    note_fault_of_call(fmt::format(
        "{}:{}: cudaEventRecord failed with cudaErrorInvalidResourceHandle: the event is device {}'s, but the stream "
        "is device {}'s; create the event while device {} is current",
        at.file, at.line, event->device, s->device, s->device));
    return fail(cudaErrorInvalidResourceHandle);
  }
  event->captured = s->captured;
  event->asked_early.clear();
  event->at = ready(*s);
  event->before = order(*s);
  return sticky_error();
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const api_call here("cudaEventSynchronize");
  const std::scoped_lock lock(runtime_mutex());
  if (!known(event)) return fail(cudaErrorInvalidResourceHandle);
  ++api_calls;
  note_wait("cudaEventSynchronize");
  host_waits_until(event->at, event->before);
  return fail(sticky_error());
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const api_call here("cudaEventQuery");
  const std::scoped_lock lock(runtime_mutex());
  return known(event) ? query("cudaEventQuery", event->at, event->before) : fail(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  const std::scoped_lock lock(runtime_mutex());
  if (!milliseconds) return fail(cudaErrorInvalidValue);
  for (const cudaEvent_t event : {start, stop}) {
    const char* const wrong = !known(event)   ? "does not exist: create it first, and destroy it last"
                              : !event->timed ? "was created with cudaEventDisableTiming: create it without that flag"
                              : event->at < 0 ? "was never recorded: call cudaEventRecord first"
                              : stop->device != start->device
                                  ? "is another device's event: record both in streams of one device"
                                  : nullptr;
    if (!wrong) continue;
    note_no_time(cudaErrorInvalidResourceHandle,
                 fmt::format("its {} event {}", event == start ? "first" : "second", wrong));
    return fail(cudaErrorInvalidResourceHandle);
  }
  if (std::max(start->at, stop->at) > host_now()) {
    host_now() += poll_seconds;
    if (stop->asked_early.empty())
      stop->asked_early = note_no_time(
          cudaErrorNotReady, "the stream has not reached both events: call cudaEventSynchronize on the second first");
    return cudaErrorNotReady;
  }
  if (!stop->asked_early.empty())
    withdraw_fault(std::exchange(stop->asked_early, {}));  // the program polled until it succeeded
  *milliseconds = static_cast<float>((stop->at - start->at) * 1e3);
  return sticky_error();
}

// ---- capture

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData*, std::size_t count, cudaStreamCaptureMode) {
  const std::scoped_lock lock(runtime_mutex());
  sim_stream* s = find(stream);
  if (!s) return fail(cudaErrorInvalidResourceHandle);
  if (!graph || (count > 0 && !dependencies)) return fail(cudaErrorInvalidValue);
  if (s == &clock_of(s->device).legacy) return fail(cudaErrorStreamCaptureUnsupported);
  if (s->captured) return fail(cudaErrorIllegalState);
  s->captured = graph;
  s->began_capture = true;
  return sticky_error();
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  auto* graph = new sim_graph;
  const cudaError_t error = cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, mode);
  if (error != cudaSuccess) delete graph;
  return error;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::scoped_lock lock(runtime_mutex());
  sim_stream* s = find(stream);
  if (!s) return fail(cudaErrorInvalidResourceHandle);
  if (!s->captured) return fail(cudaErrorIllegalState);
  if (!s->began_capture) return fail(cudaErrorStreamCaptureUnmatched);
  sim_graph* const captured = s->captured;
  if (graph) *graph = captured;  // may be null if the program supplied the graph
  for (sim_stream* other : clocks.streams)
    if (other->captured == captured) other->captured = nullptr;
  for (device_clock& d : clocks.devices) d.per_thread.captured = nullptr;
  for (sim_event* event : clocks.events)
    if (event->captured == captured) event->captured = nullptr;
  s->began_capture = false;
  return sticky_error();
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const std::scoped_lock lock(runtime_mutex());
  if (!status) return fail(cudaErrorInvalidValue);
  if (!is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
  *status = is_capturing(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return sticky_error();
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return mode ? sticky_error() : fail(cudaErrorInvalidValue);
}

}  // extern "C"

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, std::size_t* count) {
  const std::scoped_lock lock(runtime_mutex());
  const sim_stream* s = find(stream);
  if (!s) return fail(cudaErrorInvalidResourceHandle);
  if (!status) return fail(cudaErrorInvalidValue);
  *status = s->captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  if (!s->captured) return sticky_error();
  if (id) *id = s->number;
  if (graph) *graph = s->captured;
  if (dependencies) *dependencies = &s->captured->last_captured;
  if (edges) *edges = nullptr;
  if (count) *count = s->captured->last_captured ? 1 : 0;
  return sticky_error();
}
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData*, std::size_t count, unsigned) {
  const std::scoped_lock lock(runtime_mutex());
  const sim_stream* s = find(stream);
  if (!s || !s->captured) return fail(s ? cudaErrorIllegalState : cudaErrorInvalidResourceHandle);
  if (count > 0 && !dependencies) return fail(cudaErrorInvalidValue);
  if (count > 0)
    s->captured->last_captured = dependencies[count - 1];  // nodes run in the order in which they were added
  return sticky_error();
}
