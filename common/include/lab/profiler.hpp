// Measures what a piece of device work did, through one interface for both devices: CUPTI's range profiler on a GPU,
// the simulated device's own counters. `profiler` reads chosen counters of one call; `profile` shows where a program's
// time goes, range by range:
//
//   lab::profile p;
//   p.run("forward", [&] { forward(model); });   // forward() has lab::range in it
//   p.report();   // prints the table, writes profile.json, trace.json and roofline.svg, says where they are
//
// Link lab_profile_sim or lab_profile_cuda, or lab_profile alone if all work is on the CPU.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lab/execute.hpp"
#include "lab/range.hpp"

namespace lab {

class profiler {
 public:
  /// Metrics by their Nsight Compute names ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"). On the simulated device
  /// the list may be empty: it always counts everything it can. Three names are ours: "launches", the number of
  /// kernels; on the simulated device also "allocations" and "api_calls", the calls that enqueue work, allocate, free
  /// or wait.
  explicit profiler(std::vector<std::string> metrics);
  ~profiler();
  profiler(const profiler&) = delete;  // owns a session with the driver
  profiler& operator=(const profiler&) = delete;

  struct result {
    std::map<std::string, double> metrics;  ///< over all launches; a metric that could not be read is missing
    std::vector<launch_record> launches;    ///< simulated device only
    std::vector<std::string> reports;       ///< simulated device only: what its checkers found
    std::vector<std::string> notes;         ///< why something is missing, one sentence each
  };

  /// Runs `launch_once` and counts. On a GPU, runs it once for each pass over the counters, so it must launch the same
  /// work each time; it must not synchronise. `stream` is a cudaStream_t: the simulated device reports a call that
  /// waits, and work that this stream does not wait for.
  result collect(const std::function<void()>& launch_once, void* stream = nullptr);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

class profile {
 public:
  /// `metrics`: Nsight Compute names to read on a GPU, in addition to the usual ones.
  explicit profile(std::vector<std::string> metrics = {});
  ~profile();
  profile(const profile&) = delete;  // listens to ranges
  profile& operator=(const profile&) = delete;

  /// Runs `work` in a range of this name, more than once: to warm up, to measure times, and on a GPU once for each pass
  /// over the counters. So `work` must do the same each time. You may call this several times, with different names if
  /// you like. Exceptions from `work` propagate.
  void run(std::string_view name, const std::function<void()>& work);

  /// Totals over all ranges with one path; includes inner ranges, except in members named self.
  struct row {
    std::string path;  ///< "forward/layer/attention"
    int calls = 0;
    double host_seconds = 0, host_self_seconds = 0;
    double device_seconds = 0,
           device_self_seconds = 0;         ///< time with at least one kernel, copy or fill of the range running
    int launches = 0, launches_self = 0;    ///< kernels
    work declared;                          ///< the sum over inner ranges if it declares none itself
    std::map<std::string, double> metrics;  ///< Nsight Compute's names, or perf_event's; sums
    double seconds() const { return device_seconds > 0 ? device_seconds : host_seconds; }
    /// The minimum time by the roofline. Cold: each declared byte passes through DRAM once; warm: only through L2, or
    /// the processor's cache; measured: from the bytes counted at DRAM and, if counted, at L2. 0 if nothing was
    /// declared or counted.
    struct {
      double cold = 0, warm = 0, measured = 0;
    } bound_seconds;
  };
  std::vector<row> rows() const;           ///< the longest first
  std::vector<std::string> notes() const;  ///< what is missing and why

  void table(std::ostream& out) const;
  /// Makes the directory. Throws std::runtime_error if it cannot write.
  void write(const std::filesystem::path& directory) const;
  /// Prints the table to stdout and writes the files to the directory of ./course profile --output ($LAB_PROFILE), or
  /// to profile/.
  void report() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace lab
