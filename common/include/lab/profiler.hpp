// What a piece of device work did: the same question on both devices. On a GPU CUPTI's range profiler answers, on the
// simulated device its own counters do.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lab/execute.hpp"

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
  /// same work each time; it must not synchronise.
  result collect(const std::function<void()>& launch_once);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace lab
