// Where the time goes, by CUPTI's Activity API: collect all records, sort what the host did by time, and replay it. And
// what each block did, by its Range Profiler.
#include <cuda_runtime.h>
#include <cupti.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>

#include "counters.hpp"
#include "forward.hpp"

namespace lab08 {
namespace {

// Libraries may launch by the driver. CUPTI_ACTIVITY_KIND_KERNEL would serialize the kernels.
constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME,
                                        CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MARKER};

/// A range begins or ends, or a call begins, in a thread.
struct host_event {
  std::uint64_t at = 0;
  std::uint32_t thread = 0, call = 0;  // call: its correlation ID
  enum class kind { push, pop, call } what = kind::call;
  std::string range;
};

std::mutex mutex;  // on a GPU buffers come back in one of CUPTI's threads
std::vector<host_event> events;
std::vector<std::pair<std::uint32_t, traced_kernel>> kernels;  // by correlation ID

void CUPTIAPI give(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  constexpr std::size_t size = std::size_t{1} << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, size));
  *bytes = *buffer ? size : 0;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI take(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::scoped_lock lock(mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto& k = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      kernels.push_back({k.correlationId, {k.name, "", k.streamId, k.start, k.end}});
    } else if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME || record->kind == CUPTI_ACTIVITY_KIND_DRIVER) {
      const auto& c = *reinterpret_cast<const CUpti_ActivityAPI*>(record);
      events.push_back({c.start, c.threadId, c.correlationId, host_event::kind::call, ""});
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MARKER) {
      const auto& m = *reinterpret_cast<const CUpti_ActivityMarker2*>(record);
      const std::uint32_t thread = m.objectId.pt.threadId;
      if (m.flags & CUPTI_ACTIVITY_FLAG_MARKER_START)
        events.push_back({m.timestamp, thread, 0, host_event::kind::push, m.name});
      else if (m.flags & CUPTI_ACTIVITY_FLAG_MARKER_END)
        events.push_back({m.timestamp, thread, 0, host_event::kind::pop, ""});
    }
  }
  std::free(buffer);
}

/// For each call the innermost range that its thread was in.
std::map<std::uint32_t, std::string> blocks_of_calls() {
  std::map<std::uint32_t, std::string> result;
  std::map<std::uint32_t, std::vector<std::string>> open;  // by thread
  std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  for (const host_event& e : events) {
    std::vector<std::string>& stack = open[e.thread];
    if (e.what == host_event::kind::push) stack.push_back(e.range);
    if (e.what == host_event::kind::pop && !stack.empty()) stack.pop_back();
    if (e.what == host_event::kind::call && !stack.empty()) result[e.call] = stack.back();
  }
  return result;
}

}  // namespace

timeline trace(const std::function<void()>& pass) {
  events.clear();
  kernels.clear();
  check_cupti(cuptiActivityRegisterCallbacks(give, take));
  for (const CUpti_ActivityKind kind : kinds) check_cupti(cuptiActivityEnable(kind));
  pass();
  if (cudaDeviceSynchronize() != cudaSuccess) throw std::runtime_error("the pass failed");
  check_cupti(cuptiActivityFlushAll(0));  // this calls `take`, which locks `mutex`
  for (const CUpti_ActivityKind kind : kinds) check_cupti(cuptiActivityDisable(kind));

  const std::scoped_lock lock(mutex);
  timeline result;
  std::map<std::uint32_t, std::string> blocks = blocks_of_calls();
  std::map<std::uint32_t, std::uint64_t> launched;
  for (const host_event& e : events)
    if (e.what == host_event::kind::call) launched[e.call] = e.at;
  for (auto& [call, kernel] : kernels) {
    kernel.block = blocks[call];
    kernel.launched = launched[call];
    result.kernels.push_back(kernel);
  }
  std::sort(result.kernels.begin(), result.kernels.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });

  struct sum {
    int launches = 0;
    std::uint64_t busy = 0, until = 0;  // until: the end of what has been counted
  };
  std::map<std::string, sum> sums;
  std::uint64_t until = result.kernels.empty() ? 0 : result.kernels.front().begin;
  for (const traced_kernel& k : result.kernels) {
    sum& s = sums[k.block];
    ++s.launches;
    if (k.end > s.until) s.busy += k.end - std::max(k.begin, s.until);
    s.until = std::max(s.until, k.end);
    if (k.begin > until) {
      result.idle += k.begin - until;
      result.longest_gap = std::max(result.longest_gap, k.begin - until);
    }
    until = std::max(until, k.end);
  }
  for (const auto& [name, s] : sums) result.blocks.push_back({name, s.launches, s.busy});
  return result;
}

std::vector<counted_block> count(const std::vector<launched_block>& pass, const std::vector<std::string>& metrics) {
  range_counters counters(metrics, pass.size());
  for (bool done = false; !done;) {
    auto start = RANGE_PARAMETERS(counters, Start);
    check_cupti(cuptiRangeProfilerStart(&start));
    for (const launched_block& block : pass) {
      auto push = RANGE_PARAMETERS(counters, PushRange);
      push.pRangeName = block.name.c_str();
      check_cupti(cuptiRangeProfilerPushRange(&push));
      block.launch();
      // Anything still running would count towards the next range.
      if (cudaDeviceSynchronize() != cudaSuccess) throw std::runtime_error("the pass failed");
      auto pop = RANGE_PARAMETERS(counters, PopRange);
      check_cupti(cuptiRangeProfilerPopRange(&pop));
    }
    auto stop = RANGE_PARAMETERS(counters, Stop);
    check_cupti(cuptiRangeProfilerStop(&stop));
    done = stop.isAllPassSubmitted;
  }
  auto decode = RANGE_PARAMETERS(counters, DecodeData);
  check_cupti(cuptiRangeProfilerDecodeData(&decode));
  return counters.decoded();
}

}  // namespace lab08
