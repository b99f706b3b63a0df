// What the simulated device counted while a function ran.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sim {

/// What one source line requested from the memory system in one launch.
struct line_counters {
  std::string file;
  int line = 0;
  std::string operation;  ///< "global load", "global store", "shared load", "shared store", "atomic"
  std::uint64_t requests = 0;
  std::uint64_t lanes = 0;       ///< active lanes, over all requests
  std::uint64_t sectors = 0;     ///< global: 32-byte sectors
  std::uint64_t wavefronts = 0;  ///< shared: passes over the banks
  std::uint64_t ideal = 0;       ///< minimum sectors or wavefronts for the same lanes
};

struct launch_record {
  std::string kernel;
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  std::uint64_t dynamic_shared_bytes = 0;
  double modelled_seconds = 0;  ///< the simulated device's model; never a measurement
  std::map<std::string, double> metrics;
  std::vector<line_counters> lines;
};

struct observation {
  /// Sums over all launches, by Nsight Compute's names; and "launches", "allocations", "api_calls" and others of ours.
  std::map<std::string, double> metrics;
  std::vector<launch_record> launches;
  std::vector<std::string> reports;  ///< what the checkers found
};

/// Runs `work`. `stream` is a cudaStream_t: a call that waits, and work that this stream does not wait for, are
/// reported.
observation observe(const std::function<void()>& work, void* stream = nullptr);

}  // namespace sim
