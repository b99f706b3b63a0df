// What a profile is made of, and what it asks of a device and of the processor.
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
#include <vector>

#include "lab/profiler.hpp"
#include "lab/roofline.hpp"

namespace lab {

using nanoseconds = std::int64_t;  ///< of steady_clock, or of a modelled clock

inline nanoseconds host_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

using metric_values = std::map<std::string, double>;  ///< sums, by Nsight Compute's names

/// What a device or its runtime did from one moment to another.
struct activity {
  enum class kind { kernel, copy, fill, call };
  kind what = kind::kernel;
  std::string name;
  int segment = -1;        ///< during which it was asked for
  std::uint64_t lane = 0;  ///< a stream; of a call the host's thread
  nanoseconds begin = 0, end = 0;
  double bytes = 0;  ///< of copies and fills
  std::array<std::uint32_t, 3> grid{}, block{};
  /// The simulated device's report of memory that this work, and other work or the host, use in no order.
  struct overlap {
    std::string what;
    std::optional<std::pair<std::uint64_t, nanoseconds>> earlier;  ///< the other work's lane and beginning
  };
  std::vector<overlap> overlaps;
  std::uint32_t correlation = 0;                      ///< the same for a call and what it started; 0: not known
  std::vector<std::uintptr_t> stack;                  ///< of the host's call, if stacks were asked for and are known
  std::vector<std::pair<std::string, double>> lines;  ///< likewise, of a kernel: "file.cu:12", seconds of its time
};

/// Return addresses of the callers, the innermost first.
inline std::vector<std::uintptr_t> stack_here() {
  void* frames[96];
  const int count = backtrace(frames, 96);
  std::vector<std::uintptr_t> stack;
  for (int i = 0; i < count; ++i) stack.push_back(reinterpret_cast<std::uintptr_t>(frames[i]));
  return stack;
}

/// Stacks of the program's threads, taken at regular steps of CPU time.
struct cpu_samples {
  std::vector<std::vector<std::uintptr_t>>
      stacks;  ///< the interrupted instruction first; empty: a thread of the device
  double seconds_each = 0;
};

/// What a thread does between two boundaries of its ranges is a segment; segments have numbers.
struct device_account {
  std::vector<activity> activities;
  std::map<int, metric_values> metrics;  ///< by segment
  std::vector<std::string> notes;
};

/// Ceilings of a machine: rates by name, of which declared work is compared with the first of each kind.
struct roofs {
  std::vector<std::pair<std::string, double>> flops_per_second, bytes_per_second;
};

/// The device that a program was built for, as far as a profile is concerned.
class profiled_device {
 public:
  virtual std::string name() = 0;
  virtual bool modelled() const = 0;  ///< its times are a model's
  virtual roofs measure_roofs(std::vector<std::string>& notes) = 0;

  /// `with_stacks`: activities are to have stacks and lines, as far as the device can say.
  virtual void start(bool with_stacks) = 0;
  /// From now on the calling thread asks for work in this segment; -1: in none.
  virtual void segment(int number) = 0;
  /// Waits for all work.
  virtual device_account stop() = 0;

  /// Reads counters while `rerun` repeats the work, as often as it takes; the segments of the thread that calls come in
  /// the same order, and only in those of `busy` is anything to be counted. `metrics` are wanted beside the usual ones.
  virtual device_account count(const std::function<void()>& rerun, const std::set<int>& busy,
                               const std::vector<std::string>& metrics) = 0;

  /// Whether the calling thread is the device's, not the program's. Signal handlers ask.
  virtual bool owns_thread() { return false; }

 protected:
  ~profiled_device() = default;
};

/// Defined by the library of the device; null if a program has none.
extern "C" profiled_device* lab_profiled_device() __attribute__((weak));

/// Counts of this process, in user mode, since the counters were opened.
struct processor_counts {
  static constexpr std::array<const char*, 3> names{"instructions", "cycles", "cache_misses"};
  std::array<double, 3> values{};
};

/// perf_event's counters, of all threads that there are and will be.
class processor_counters {
 public:
  processor_counters();
  ~processor_counters();
  processor_counters(const processor_counters&) = delete;  // owns file descriptors
  processor_counters& operator=(const processor_counters&) = delete;
  const std::string& refused() const { return refused_; }  ///< "" or why nothing is counted
  processor_counts read() const;

 private:
  std::array<std::vector<int>, 3> files_;
  std::string refused_;
};

std::string processor_name();
roofs processor_roofs();

struct range_run {
  int parent = -1;  ///< index of the run around it
  std::string name;
  int thread = 0;
  nanoseconds begin = 0, end = 0;
  work declared;
  processor_counts counts;  ///< its own: without the runs inside
};

/// One call of profile::run.
struct recording {
  std::vector<range_run> runs;  ///< a parent before its children
  std::vector<int> segments;    ///< whose run each is
  device_account device;
  bool counted_processor = false;
  cpu_samples samples;  ///< for a flame graph
};

/// A profile's contents, for its outputs.
struct profile_contents {
  std::vector<recording> recordings;
  std::vector<std::string> notes;
  std::string device;  ///< "" if nothing ran on one
  bool modelled = false;
  roofs processor, on_device;
  std::string when;
  bool flame = false;  ///< stacks were recorded

  std::vector<profile::row> rows() const;
  /// Only what ran on the device, or only what did not: times of both do not compare.
  profile_contents part(bool with_device) const;
};

/// Index of the run in which it was asked for; -1 if in none.
int run_of(const recording& rec, const activity& a);
/// "forward/layer/attention"; "" for run -1.
std::string path_of(const recording& rec, int run);
/// "void ns::kernel<int, 4>(float*)" -> "ns::kernel<int, 4>"
std::string without_arguments(std::string name);

std::string table_of(const profile_contents& what);
std::string json_of(const profile_contents& what);
std::string trace_of(const profile_contents& what);
/// Folded stacks of CPU and device, for viewers of flame graphs.
std::string folded_of(const profile_contents& what);
/// The roofline of one part; "" if there is no gnuplot or nothing to draw.
std::string roofline_svg_of(const profile_contents& what);
/// All into files of a directory.
void write_profile(const profile_contents& what, const std::filesystem::path& directory);

/// Records ranges from one moment to another in this process. Only one at a time.
void start_recording(bool with_stacks = false);
recording stop_recording();

/// Samples stacks from one moment to another. Only one at a time.
void start_sampling(profiled_device* device);
cpu_samples stop_sampling();

}  // namespace lab
