// The device always counts: observing returns the difference since the start.
#include "sim/observe.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "faults.hpp"
#include "heap.hpp"
#include "library.hpp"
#include "metrics.hpp"
#include "sim/counters.hpp"
#include "sim/host_accesses.hpp"
#include "streams.hpp"

namespace sim {
namespace {

/// The state when counting begins.
struct count_start {
  std::uint64_t calls = api_calls, allocations = allocations_so_far();
  std::size_t launches = launch_log().size(), unaligned = unaligned_products;
};
struct watching {
  count_start from;
  stream_watch streams;
  watching() {
    watched_streams = &streams;
    current = this;
  }
  ~watching() { end(); }               // even if the call throws
  watching(const watching&) = delete;  // other objects point to it
  watching& operator=(const watching&) = delete;
  void end() {
    watched_streams = nullptr;
    current = nullptr;
  }
  static inline watching* current = nullptr;
};

}  // namespace

observation observe(const std::function<void()>& work, void* stream) {
  watching now;
  work();
  check_sources();
  now.end();
  const auto& [calls, allocations, before, unaligned_before] = now.from;
  const stream_watch& watched = now.streams;
  observation r;
  r.reports = watched.faults;
  if (stream)
    for (std::string& broken : broken_contract(watched, static_cast<cudaStream_t>(stream)))
      r.reports.push_back(std::move(broken));
  const auto& log = launch_log();
  for (std::size_t i = before; i < log.size(); ++i) {
    const launched& l = log[i];
    launch_record record;
    record.kernel = l.kernel;
    const dim3 dims[2] = {l.config.grid, l.config.block};
    for (int d = 0; d < 2; ++d) {
      auto& to = d == 0 ? record.grid : record.block;
      to[0] = dims[d].x;
      to[1] = dims[d].y;
      to[2] = dims[d].z;
    }
    record.dynamic_shared_bytes = l.config.dynamic_shared_bytes;
    record.modelled_seconds = l.modelled_seconds;
    record.metrics = metrics_of(l);
    record.lines = lines_of(l);
    for (const auto& [name, value] : record.metrics)
      if (name.ends_with(".sum")) r.metrics[name] += value;
    for (const auto& [begin, of] : l.counts.allocations) {
      r.metrics["bytes_of_input_0"] += of.name == "input 0" ? static_cast<double>(of.loaded) : 0;
      for (const auto& [name, metric] : {std::pair{"input", "bytes_past_loads"}, {"output", "bytes_past_stores"}})
        r.metrics[metric] += of.name.starts_with(name) ? static_cast<double>(of.uncounted) : 0;
    }
    r.metrics["words_copied"] += static_cast<double>(l.counts.words_copied);
    r.metrics["copied_beside_loads"] += static_cast<double>(l.counts.copied_beside_loads);
    for (const auto& [key, fault] : l.counts.faults) r.reports.push_back(describe(l, fault));
    r.launches.push_back(std::move(record));
  }
  r.metrics["api_calls"] = static_cast<double>(api_calls - calls);
  r.metrics["allocations"] = static_cast<double>(allocations_so_far() - allocations);
  r.metrics["launches"] = static_cast<double>(r.launches.size());
  r.metrics["launches_copies_fills"] = static_cast<double>(watched.work.size());
  for (const counter_name& one : std::initializer_list<counter_name>{
           "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
           "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum",
           "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum"})
    r.metrics["multiplications"] += r.metrics[one.text];
  // For bars that a GPU's counters of these names cannot meet: its profiler reports about 50 microseconds for any small
  // kernel, and its driver copies small arrays with a kernel.
  r.metrics["modelled_time"] = r.metrics["gpu__time_duration.sum"];
  r.metrics["sectors_loaded_by_launches"] = r.metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"];
  r.metrics["host_launches"] = static_cast<double>(watched.host_launches);
  r.metrics["bytes_past_loads"] += watched.bytes_past_loads;
  r.metrics["bytes_past_stores"] += watched.bytes_past_stores;
  r.metrics["bytes_to_device"] = watched.bytes_to_device;
  r.metrics["pageable_bytes"] = watched.pageable_bytes;
  for (const auto& [call, times] : watched.waits)
    r.metrics[call.starts_with("cudaEvent") ? "event_waits" : "waits"] += static_cast<double>(times);
  for (const char* none : {"event_waits", "waits"}) r.metrics.try_emplace(none, 0);
  if (!watched.work.empty()) {
    const auto ends = [](const auto& a, const auto& b) { return a.end < b.end; };
    const auto begins = [](const auto& a, const auto& b) { return a.begin < b.begin; };
    r.metrics["stream_time"] = 1e9 * (std::max_element(watched.work.begin(), watched.work.end(), ends)->end -
                                      std::min_element(watched.work.begin(), watched.work.end(), begins)->begin);
  }
  std::set<std::size_t> streams;
  for (const stream_watch::piece& p : watched.work) streams.insert(p.number);
  r.metrics["streams"] = static_cast<double>(streams.size());
  r.metrics["unaligned_products"] = static_cast<double>(unaligned_products - unaligned_before);
  add_ratios(r.metrics);
  return r;
}

}  // namespace sim

extern "C" void sim_count_from_here() {
  if (!sim::watching::current) return;
  sim::watching::current->from = {};
  sim::watching::current->streams = {};
}
