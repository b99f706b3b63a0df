// What a profile is made of, and what it asks of a device and of the processor.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
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
  std::uint32_t correlation = 0;  ///< the same for a call and what it started; 0: not known
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

  virtual void start() = 0;
  /// From now on the calling thread asks for work in this segment; -1: in none.
  virtual void segment(int number) = 0;
  /// Waits for all work.
  virtual device_account stop() = 0;

  /// Reads counters while `rerun` repeats the work, as often as it takes; the segments of the thread that calls come in
  /// the same order, and only in those of `busy` is anything to be counted. `metrics` are wanted beside the usual ones.
  virtual device_account count(const std::function<void()>& rerun, const std::set<int>& busy,
                               const std::vector<std::string>& metrics) = 0;

 protected:
  ~profiled_device() = default;
};

/// Defined by the library of the device; null if a program has none.
extern "C" profiled_device* lab_profiled_device() __attribute__((weak));

/// Of this process, in user mode, since the counters were opened.
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
};

/// A profile's contents, for its outputs.
struct profile_contents {
  std::vector<recording> recordings;
  std::vector<std::string> notes;
  std::string device;  ///< "" if nothing ran on one
  bool modelled = false;
  roofs processor, on_device;
  std::string when;

  std::vector<profile::row> rows() const;
  /// Only what ran on the device, or only what did not: times of both do not compare.
  profile_contents part(bool with_device) const;
};

std::string table_of(const profile_contents& what);
std::string json_of(const profile_contents& what);
std::string trace_of(const profile_contents& what);
/// Of one part; "" if there is no gnuplot or nothing to draw.
std::string roofline_svg_of(const profile_contents& what);
/// All four into files of a directory.
void write_profile(const profile_contents& what, const std::filesystem::path& directory);

/// Records ranges from one moment to another in this process. Only one at a time.
void start_recording();
recording stop_recording();

}  // namespace lab
