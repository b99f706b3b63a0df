// What a profiler needs from a device: its activities in time and its counters, by stretches of the program.
#pragma once

#include <execinfo.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sim::profiling {

using nanoseconds = std::int64_t;  ///< by steady_clock or a modelled clock

inline nanoseconds host_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

using metric_values = std::map<std::string, double>;  ///< sums, by Nsight Compute name

/// One activity of a device or its runtime, from begin to end.
struct activity {
  enum class kind { kernel, copy, fill, call };
  kind what = kind::kernel;
  std::string name;
  int segment = -1;        ///< during which it was issued
  std::uint64_t lane = 0;  ///< a stream, or for a call the host's thread
  nanoseconds begin = 0, end = 0;
  double bytes = 0;  ///< of copies and fills
  std::array<std::uint32_t, 3> grid{}, block{};
  /// The simulated device's report of memory that this work shares, unordered, with other work or the host.
  struct overlap {
    std::string what;
    std::optional<std::pair<std::uint64_t, nanoseconds>> earlier;  ///< the other work's lane and begin
  };
  std::vector<overlap> overlaps;
  std::uint32_t correlation = 0;                      ///< the same for a call and the work it started; 0: unknown
  std::vector<std::uintptr_t> stack;                  ///< of the host's call, if stacks were requested and are known
  std::vector<std::pair<std::string, double>> lines;  ///< likewise, for a kernel: "file.cu:12", seconds spent there
};

/// The callers' return addresses, the innermost first.
inline std::vector<std::uintptr_t> stack_here() {
  void* frames[96];
  const int count = backtrace(frames, 96);
  std::vector<std::uintptr_t> stack;
  for (int i = 0; i < count; ++i) stack.push_back(reinterpret_cast<std::uintptr_t>(frames[i]));
  return stack;
}

/// A segment is what a thread does between two boundaries of its ranges; segments are numbered.
struct device_account {
  std::vector<activity> activities;
  std::map<int, metric_values> metrics;  ///< by segment
  std::vector<std::string> notes;
};

/// Ceilings of a machine: rates by name. Declared work is compared with the first of each kind.
struct roofs {
  std::vector<std::pair<std::string, double>> flops_per_second, bytes_per_second;
};

/// A profile's view of the device that the program was built for.
class profiled_device {
 public:
  virtual std::string name() = 0;
  virtual bool modelled() const = 0;  ///< its times are modelled
  virtual roofs measure_roofs(std::vector<std::string>& notes) = 0;

  /// `with_stacks`: activities get stacks and lines where the device knows them.
  virtual void start(bool with_stacks) = 0;
  /// Assigns the calling thread's further work to this segment; -1: to none.
  virtual void segment(int number) = 0;
  /// Waits until all work is done.
  virtual device_account stop() = 0;

  /// Reads counters while `rerun` repeats the work as often as needed. The calling thread's segments come in the same
  /// order each time; only those in `busy` are counted. `metrics` are read in addition to the usual ones.
  virtual device_account count(const std::function<void()>& rerun, const std::set<int>& busy,
                               const std::vector<std::string>& metrics) = 0;

  /// Whether the calling thread belongs to the device, not to the program. Called by signal handlers.
  virtual bool owns_thread() { return false; }

 protected:
  ~profiled_device() = default;
};

/// Defined by the device's library; null if the program has none.
extern "C" profiled_device* lab_profiled_device() __attribute__((weak));

}  // namespace sim::profiling
