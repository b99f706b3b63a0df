// The parts of a profile, and what it needs from the processor.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lab/profiler.hpp"
#include "lab/roofline.hpp"
#include "sim/profiling.hpp"

namespace lab {

using namespace sim::profiling;

/// Stacks of the program's threads, sampled at regular intervals of CPU time.
struct cpu_samples {
  std::vector<std::vector<std::uintptr_t>>
      stacks;  ///< the interrupted instruction first; empty: a thread of the device
  double seconds_each = 0;
};

/// This process's user-mode counts since the counters were opened.
struct processor_counts {
  static constexpr std::array<const char*, 3> names{"instructions", "cycles", "cache_misses"};
  std::array<double, 3> values{};
};

/// perf_event's counters, for all present and future threads.
class processor_counters {
 public:
  processor_counters();
  ~processor_counters();
  processor_counters(const processor_counters&) = delete;  // owns file descriptors
  processor_counters& operator=(const processor_counters&) = delete;
  const std::string& refused() const { return refused_; }  ///< "" or why nothing can be counted
  processor_counts read() const;

 private:
  std::array<std::vector<int>, 3> files_;
  std::string refused_;
};

std::string processor_name();
roofs processor_roofs();

struct range_run {
  int parent = -1;  ///< index of the enclosing run
  std::string name;
  int thread = 0;
  nanoseconds begin = 0, end = 0;
  work declared;
  processor_counts counts;  ///< its own, without inner runs
};

/// One call to profile::run.
struct recording {
  std::vector<range_run> runs;  ///< a parent before its children
  std::vector<int> segments;    ///< for each segment, the index of its run
  device_account device;
  bool counted_processor = false;
  cpu_samples samples;  ///< for a flame graph
};

/// A profile's contents, for its outputs.
struct profile_contents {
  std::vector<recording> recordings;
  std::vector<std::string> notes;
  std::string device;  ///< "" if none was used
  bool modelled = false;
  roofs processor, on_device;
  std::string when;
  bool flame = false;  ///< whether stacks were recorded

  std::vector<profile::row> rows() const;
  /// Keeps only what ran on the device, or only the rest: the two kinds of time cannot be compared.
  profile_contents part(bool with_device) const;
};

/// The index of the run that issued the activity; -1 if there is none.
int run_of(const recording& rec, const activity& a);
/// "forward/layer/attention"; "" for run -1.
std::string path_of(const recording& rec, int run);
/// "void ns::kernel<int, 4>(float*)" -> "ns::kernel<int, 4>"
std::string without_arguments(std::string name);

std::string table_of(const profile_contents& what);
std::string json_of(const profile_contents& what);
std::string trace_of(const profile_contents& what);
/// Folded stacks of CPU and device, for flame graph viewers.
std::string folded_of(const profile_contents& what);
/// The roofline of one part; "" if there is no gnuplot or nothing to draw.
std::string roofline_svg_of(const profile_contents& what);
/// Writes all outputs to a directory.
void write_profile(const profile_contents& what, const std::filesystem::path& directory);

/// Records this process's ranges between start and stop. Only one can be active at a time.
void start_recording(bool with_stacks = false);
recording stop_recording();

/// Samples stacks between start and stop. Only one can be active at a time.
void start_sampling(profiled_device* device);
cpu_samples stop_sampling();

}  // namespace lab
