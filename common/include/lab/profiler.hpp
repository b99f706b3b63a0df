// What a piece of device work did: the same question on both devices. On a GPU CUPTI's range profiler answers, on the
// simulated device its own counters do. `profiler` asks for chosen counters of one call, `profile` where the time of a
// program goes, range by range:
//
//   lab::profile p;
//   p.run("forward", [&] { forward(model); });   // forward() has lab::range in it
//   p.report();   // prints the table, writes profile.json, trace.json and roofline.svg, says where they are
//
// Link lab_profile_sim or lab_profile_cuda, or lab_profile alone if all is done on the CPU.
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
  /// the list may be empty: it always counts everything it can. One name is ours: "launches", the number of kernels.
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

  /// Runs `launch_once` and counts. On a GPU it is run once for each pass over the counters, so it must launch the
  /// same work each time; it must not synchronise. `stream`, a cudaStream_t: on the simulated device it is reported
  /// where the call waits, or leaves work that this stream does not wait for.
  result collect(const std::function<void()>& launch_once, void* stream = nullptr);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

class profile {
 public:
  /// `metrics`: more that shall be read on a GPU, by their Nsight Compute names, beside the usual ones.
  explicit profile(std::vector<std::string> metrics = {});
  ~profile();
  profile(const profile&) = delete;  // listens to ranges
  profile& operator=(const profile&) = delete;

  /// Runs `work` in a range of this name. It runs more than once: to warm up, for times, and on a GPU once for each
  /// pass over the counters; so it must do the same each time. May be called again, also with other names. What `work`
  /// throws passes through.
  void run(std::string_view name, const std::function<void()>& work);

  /// All runs of the ranges with one path, inner ranges included unless it says self.
  struct row {
    std::string path;  ///< "forward/layer/attention"
    int calls = 0;
    double host_seconds = 0, host_self_seconds = 0;
    double device_seconds = 0, device_self_seconds = 0;  ///< while at least one kernel, copy or fill of the range ran
    int launches = 0, launches_self = 0;                 ///< kernels
    work declared;                                       ///< of inner ranges if it declares none itself
    std::map<std::string, double> metrics;               ///< Nsight Compute's names, or perf_event's; sums
    double seconds() const { return device_seconds > 0 ? device_seconds : host_seconds; }
    /// How long it takes at the roofs of arithmetic and of memory, at best. Cold: each declared byte once through DRAM;
    /// warm: through L2, or the processor's cache; measured: what was counted through DRAM, and through L2 where that
    /// was counted. 0 if nothing was declared, or counted.
    struct {
      double cold = 0, warm = 0, measured = 0;
    } bound_seconds;
  };
  std::vector<row> rows() const;           ///< the longest first
  std::vector<std::string> notes() const;  ///< what could not be had, and why

  void table(std::ostream& out) const;
  /// Makes the directory. Throws std::runtime_error if it cannot write.
  void write(const std::filesystem::path& directory) const;
  /// Both: the table to stdout, the files to where ./course profile --output says ($LAB_PROFILE), or else to profile/.
  void report() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace lab
