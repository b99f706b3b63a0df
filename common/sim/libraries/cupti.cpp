// CUPTI's Activity API. The program's calls and the device's work become records, which enter the program's buffers
// once complete: a kernel's once the host knows that it has ended.
#include "cupti.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "devices.hpp"
#include "launches.hpp"
#include "runtime.hpp"
#include "sim/host_accesses.hpp"
#include "sim/ranges.hpp"
#include "streams.hpp"

namespace sim {
namespace {

// The host's time for a recorded call, and for a range's begin or end. Without CUPTI, the modelled host takes no time.
// Assumed: an H100's host needs 1 to 5 microseconds.
constexpr double call_seconds = 1e-6, step_seconds = 1e-7;

using bytes = std::vector<std::uint8_t>;

struct unfinished_record {
  bytes record;
  double complete_at;  ///< on the modelled clock of the host
};
struct program_buffer {
  std::uint8_t* begin = nullptr;
  std::size_t size = 0, used = 0, records = 0, most_records = 0;
};

struct {
  std::mutex mutex;
  std::bitset<CUPTI_ACTIVITY_KIND_COUNT> enabled;
  std::vector<bytes> complete;
  std::vector<unfinished_record> unfinished;
  double next_complete_at = 0;  // of the record that completes first
  std::size_t dropped = 0;
  std::uint32_t calls = 0, markers = 0;
  std::set<std::string> names;  // a program may keep their addresses
} all;

/// Held while the program's callbacks run. They may call CUDA, so the mutex above must be free.
struct {
  std::recursive_mutex mutex;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  program_buffer buffer;
  std::size_t most_records = 0;  // limit per buffer, whatever the program says; 0: as many as fit
  bool at_work = false;
} delivery;

struct {
  int depth = 0;
  const char* name = nullptr;
  std::uint32_t correlation = 0;
  std::uint64_t start = 0;
  cudaError_t error = cudaSuccess;
} thread_local call_at_work;
thread_local std::vector<std::uint32_t> open_markers;  // 0: not recorded
thread_local std::vector<std::uint64_t> external_ids[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE];

bool is_kernel(CUpti_ActivityKind kind) {
  return kind == CUPTI_ACTIVITY_KIND_KERNEL || kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
}
std::size_t record_bytes(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_MARKER: return sizeof(CUpti_ActivityMarker2);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    default: return 0;
  }
}

/// Nanoseconds since 1970, as CUPTI counts them.
std::uint64_t timestamp(double modelled_seconds) {
  static const std::uint64_t begin = [] {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  }();
  return begin + static_cast<std::uint64_t>(std::llround(1e9 * modelled_seconds));
}
std::uint64_t next_moment() { return timestamp(spend_on_host(step_seconds)); }
std::uint32_t this_thread() { return static_cast<std::uint32_t>(pthread_self()); }

void add_bytes(const void* from, std::size_t size, double complete_at) {
  const auto* const begin = static_cast<const std::uint8_t*>(from);
  bytes record(begin, begin + size);
  if (complete_at == 0) return all.complete.push_back(std::move(record));
  all.next_complete_at = all.unfinished.empty() ? complete_at : std::min(all.next_complete_at, complete_at);
  all.unfinished.push_back({std::move(record), complete_at});
}
template <class Record>
void add(const Record& r, double complete_at = 0) {
  if (all.enabled[r.kind]) add_bytes(&r, sizeof r, complete_at);
}

void return_buffer() {
  const program_buffer full = std::exchange(delivery.buffer, {});
  if (full.begin) delivery.complete(nullptr, 0, full.begin, full.size, full.used);
}

void put(const bytes& record) {
  program_buffer& to = delivery.buffer;
  if (to.begin && (to.used + record.size() > to.size || (to.most_records > 0 && to.records >= to.most_records)))
    return_buffer();
  if (!to.begin) {
    delivery.request(&to.begin, &to.size, &to.most_records);
    to.used = to.records = 0;
    if (!to.begin) to = {};
  }
  if (to.size < record.size()) {
    const std::scoped_lock lock(all.mutex);
    ++all.dropped;
    return;
  }
  std::memcpy(to.begin + to.used, record.data(), record.size());
  to.used += record.size();
  if (++to.records == delivery.most_records) return_buffer();
}

void clear_times(CUpti_Activity* record) {
  const auto clear = [](auto* r) { r->start = r->end = CUPTI_TIMESTAMP_UNKNOWN; };
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY: return clear(reinterpret_cast<CUpti_ActivityMemcpy6*>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET: return clear(reinterpret_cast<CUpti_ActivityMemset4*>(record));
    default: return clear(reinterpret_cast<CUpti_ActivityKernel10*>(record));
  }
}

/// Takes complete records; if `forced`, also incomplete ones, without times.
std::vector<bytes> take_complete(bool forced) {
  const double now = spend_on_host(0);
  const std::scoped_lock lock(all.mutex);
  std::vector<bytes> taken = std::exchange(all.complete, {});
  if (all.unfinished.empty() || (now < all.next_complete_at && !forced)) return taken;
  for (unfinished_record& u : std::exchange(all.unfinished, {})) {
    if (u.complete_at > now && !forced) {
      add_bytes(u.record.data(), u.record.size(), u.complete_at);
      continue;
    }
    if (u.complete_at > now) clear_times(reinterpret_cast<CUpti_Activity*>(u.record.data()));
    taken.push_back(std::move(u.record));
  }
  return taken;
}

/// Moves records into the program's buffers.
void deliver(bool forced = false) {
  const std::scoped_lock lock(delivery.mutex);
  if (!delivery.request || delivery.at_work) return;
  delivery.at_work = true;
  for (const bytes& record : take_complete(forced)) put(record);
  delivery.at_work = false;
}

/// CUPTI does not return a buffer with an incomplete record before a forced flush; here such records wait outside.
void flush(bool forced) {
  const std::scoped_lock lock(delivery.mutex);
  deliver(forced);
  {
    const std::scoped_lock until_seen(all.mutex);
    if (!all.unfinished.empty() || delivery.at_work) return;
  }
  delivery.at_work = true;
  return_buffer();
  delivery.at_work = false;
}

const char* kept(std::string_view name) { return all.names.emplace(name).first->c_str(); }

class calls_and_work final : public activity_recorder {
 public:
  void begin_call(const char* name) override {
    if (call_at_work.depth++ > 0) return;
    const std::scoped_lock lock(all.mutex);
    call_at_work.name = name;
    call_at_work.error = cudaSuccess;
    call_at_work.correlation = ++all.calls;
    call_at_work.start = next_moment();
    spend_on_host(call_seconds);
  }
  void fail_call(cudaError_t error) override { call_at_work.error = error; }
  void end_call() override {
    if (--call_at_work.depth > 0) return;
    {
      const std::scoped_lock lock(all.mutex);
      for (int k = 0; k < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE; ++k)
        if (!external_ids[k].empty())
          add(CUpti_ActivityExternalCorrelation{CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                                static_cast<CUpti_ExternalCorrelationKind>(k), external_ids[k].back(),
                                                call_at_work.correlation, 0});
      add(CUpti_ActivityAPI{CUPTI_ACTIVITY_KIND_RUNTIME, number_of(call_at_work.name), call_at_work.start,
                            next_moment(), static_cast<std::uint32_t>(getpid()), this_thread(),
                            call_at_work.correlation, static_cast<std::uint32_t>(call_at_work.error)});
    }
    deliver();
  }

  void start(const stream_work& what) override {
    const std::scoped_lock lock(all.mutex);
    const auto device = static_cast<std::uint32_t>(device_of(what.stream));
    const auto fill_in = [&](auto r) {
      r.start = timestamp(what.begin);
      r.end = timestamp(what.begin + what.seconds);
      r.deviceId = device;
      r.contextId = device + 1;
      r.streamId = tool_number(what.stream);
      r.correlationId = call_at_work.correlation;
      if constexpr (requires { r.bytes; }) r.bytes = static_cast<std::uint64_t>(what.bytes);
      add(r, what.begin + what.seconds);
    };
    const bool async = call_at_work.name && std::string_view(call_at_work.name).ends_with("Async");
    switch (what.what) {
      case stream_work::kind::kernel: return fill_in(kernel(launch_log().back()));
      case stream_work::kind::copy: return fill_in(copy(what, async));
      case stream_work::kind::fill: {
        CUpti_ActivityMemset4 r{};
        r.kind = CUPTI_ACTIVITY_KIND_MEMSET;
        r.value = static_cast<std::uint8_t>(what.value);
        r.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
        r.flags = async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
        return fill_in(r);
      }
    }
  }

 private:
  static CUpti_CallbackId number_of(std::string_view call) {
#define SIM_CALL(name, version, number) \
  if (call == #name) return number;
    SIM_CUPTI_CALLS(SIM_CALL)
#undef SIM_CALL
    return CUPTI_RUNTIME_TRACE_CBID_INVALID;
  }
  static CUpti_ActivityKernel10 kernel(const launched& l) {
    CUpti_ActivityKernel10 r{};
    r.kind =
        all.enabled[CUPTI_ACTIVITY_KIND_KERNEL] ? CUPTI_ACTIVITY_KIND_KERNEL : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    r.registersPerThread = static_cast<std::uint16_t>(l.registers);
    r.gridX = static_cast<int>(l.config.grid.x);
    r.gridY = static_cast<int>(l.config.grid.y);
    r.gridZ = static_cast<int>(l.config.grid.z);
    r.blockX = static_cast<int>(l.config.block.x);
    r.blockY = static_cast<int>(l.config.block.y);
    r.blockZ = static_cast<int>(l.config.block.z);
    r.clusterX = l.config.cluster.x;
    r.clusterY = l.config.cluster.y;
    r.clusterZ = l.config.cluster.z;
    r.staticSharedMemory = static_cast<int>(l.static_shared_bytes);
    r.dynamicSharedMemory = static_cast<int>(l.config.dynamic_shared_bytes);
    r.gridId = static_cast<std::int64_t>(launch_log().size());
    r.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
    r.name = kept(l.kernel);
    return r;
  }
  static CUpti_ActivityMemcpy6 copy(const stream_work& what, bool async) {
    const std::string_view name = what.name;
    const CUpti_ActivityMemoryKind host =
        what.pageable ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    CUpti_ActivityMemcpy6 r{};
    r.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    r.copyKind = name == "copy to the device"       ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                 : name == "copy to the host"       ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
                 : name == "copy on the device"     ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
                 : name == "copy to another device" ? CUPTI_ACTIVITY_MEMCPY_KIND_PTOP
                                                    : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
    const bool reads_host =
        r.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD || r.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
    const bool writes_host =
        r.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH || r.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
    r.srcKind = reads_host ? host : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    r.dstKind = writes_host ? host : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    r.flags = async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
    r.copyCount = 1;
    return r;
  }
} work_recorder;

/// Ranges, NVTX's and others.
class markers final : public range_listener {
 public:
  void enter(std::string_view name, double, double) override {
    const std::scoped_lock lock(all.mutex);
    open_markers.push_back(all.enabled[CUPTI_ACTIVITY_KIND_MARKER] ? ++all.markers : 0);
    note(CUPTI_ACTIVITY_FLAG_MARKER_START, kept(name));
  }
  void leave() override {
    const std::scoped_lock lock(all.mutex);
    note(CUPTI_ACTIVITY_FLAG_MARKER_END, nullptr);
    open_markers.pop_back();
  }

 private:
  static void note(CUpti_ActivityFlag flag, const char* name) {
    if (open_markers.back() == 0) return;
    CUpti_ActivityMarker2 r{};
    r.kind = CUPTI_ACTIVITY_KIND_MARKER;
    r.flags = flag;
    r.timestamp = next_moment();
    r.id = open_markers.back();
    r.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    r.objectId.pt.processId = static_cast<std::uint32_t>(getpid());
    r.objectId.pt.threadId = this_thread();
    r.name = name;
    add(r);
  }
} range_recorder;

/// Kinds that may be enabled although they never have records: samples enable them needlessly.
bool stays_empty(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_DEVICE:
    case CUPTI_ACTIVITY_KIND_CONTEXT:
    case CUPTI_ACTIVITY_KIND_NAME:
    case CUPTI_ACTIVITY_KIND_MARKER_DATA:
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return true;
    default: return false;
  }
}

bool is_kind(CUpti_ActivityKind kind) { return CUPTI_ACTIVITY_KIND_INVALID < kind && kind < CUPTI_ACTIVITY_KIND_COUNT; }
bool is_external(CUpti_ExternalCorrelationKind kind) {
  return CUPTI_EXTERNAL_CORRELATION_KIND_INVALID < kind && kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE;
}

}  // namespace
}  // namespace sim

using namespace sim;

extern "C" {

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  if (!request || !complete) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::scoped_lock lock(delivery.mutex);
  delivery.request = request;
  delivery.complete = complete;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const std::scoped_lock lock(all.mutex);
  if (!is_kind(kind)) return CUPTI_ERROR_NOT_COMPATIBLE;
  if (is_kernel(kind) && all.enabled[kind == CUPTI_ACTIVITY_KIND_KERNEL ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                                                                        : CUPTI_ACTIVITY_KIND_KERNEL])
    return CUPTI_ERROR_NOT_COMPATIBLE;
  if (record_bytes(kind) == 0 && !stays_empty(kind)) return CUPTI_ERROR_NOT_SUPPORTED;
  if (kind == CUPTI_ACTIVITY_KIND_MARKER) {
    range_listener* none = nullptr;
    if (!range_listener::current.compare_exchange_strong(none, &range_recorder) && none != &range_recorder)
      return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  all.enabled.set(kind);
  call_listener = &work_recorder;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::scoped_lock lock(all.mutex);
  if (!is_kind(kind)) return CUPTI_ERROR_NOT_COMPATIBLE;
  all.enabled.reset(kind);
  range_listener* ours = &range_recorder;
  if (kind == CUPTI_ACTIVITY_KIND_MARKER) range_listener::current.compare_exchange_strong(ours, nullptr);
  if (all.enabled.none()) call_listener = nullptr;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(std::uint32_t flag) {
  flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
  if (!buffer || !record) return CUPTI_ERROR_INVALID_PARAMETER;
  auto* const at = reinterpret_cast<std::uint8_t*>(*record);
  const std::size_t next = at ? static_cast<std::size_t>(at - buffer) + record_bytes((*record)->kind) : 0;
  if (next + sizeof(CUpti_Activity) > valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  auto* const found = reinterpret_cast<CUpti_Activity*>(buffer + next);
  if (const std::size_t size = record_bytes(found->kind); size == 0 || next + size > valid)
    return CUPTI_ERROR_INVALID_KIND;
  *record = found;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  if (!dropped) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::scoped_lock lock(all.mutex);
  *dropped = std::exchange(all.dropped, 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t id) {
  if (!is_external(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
  external_ids[kind].push_back(id);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t* last) {
  if (!is_external(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
  if (external_ids[kind].empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (last) *last = external_ids[kind].back();
  external_ids[kind].pop_back();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(std::uint64_t* now) {
  if (!now) return CUPTI_ERROR_INVALID_PARAMETER;
  *now = timestamp(spend_on_host(0));
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetContextId(CUcontext context, std::uint32_t* id) {
  if (!context) return CUPTI_ERROR_INVALID_CONTEXT;
  if (!id) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = static_cast<std::uint32_t>(driver::device_of(context)) + 1;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetDeviceId(CUcontext context, std::uint32_t* id) {
  if (!context) return CUPTI_ERROR_INVALID_CONTEXT;
  if (!id) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = static_cast<std::uint32_t>(driver::device_of(context));
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetStreamId(CUcontext, CUstream stream, std::uint32_t* id) {
  if (!id) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::scoped_lock lock(runtime_state_mutex());
  if (!is_stream(stream)) return CUPTI_ERROR_INVALID_STREAM;
  *id = tool_number(stream);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  if (!name || domain != CUPTI_CB_DOMAIN_RUNTIME_API) return CUPTI_ERROR_INVALID_PARAMETER;
  switch (id) {
#define SIM_CALL(call, version, number) \
  case number: *name = #call "_" #version; return CUPTI_SUCCESS;
    SIM_CUPTI_CALLS(SIM_CALL)
#undef SIM_CALL
    default: return CUPTI_ERROR_INVALID_PARAMETER;
  }
}
CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  if (!text) return CUPTI_ERROR_INVALID_PARAMETER;
  switch (result) {
#define SIM_RESULT(name, number) \
  case CUPTI_##name: *text = "CUPTI_" #name; return CUPTI_SUCCESS;
    SIM_CUPTI_RESULTS(SIM_RESULT)
#undef SIM_RESULT
  }
  *text = "<unknown>";
  return CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult cuptiGetVersion(std::uint32_t* version) {
  if (!version) return CUPTI_ERROR_INVALID_PARAMETER;
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

}  // extern "C"

void sim_limit_buffers(std::size_t records) {
  const std::scoped_lock lock(delivery.mutex);
  delivery.most_records = records;
}
void sim_add_activity(const void* record, std::size_t size) {
  constexpr double until_waited = 1;  // seconds
  CUpti_ActivityKernel10 copy;        // the largest
  std::memcpy(&copy, record, size);
  {
    const std::scoped_lock lock(runtime_state_mutex(), all.mutex);
    if (is_kernel(copy.kind) && all.enabled[CUPTI_ACTIVITY_KIND_KERNEL]) copy.kind = CUPTI_ACTIVITY_KIND_KERNEL;
    if (!all.enabled[copy.kind]) return;
    const double complete_at = is_kernel(copy.kind) ? advance_clock(nullptr, until_waited) + until_waited : 0;
    add_bytes(&copy, size, complete_at);
  }
  deliver();
}
