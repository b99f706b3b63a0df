// Profiles on the simulated device, which always counts: this file only assigns launches to segments.
#include <fmt/format.h>

#include <cmath>

#include "faults.hpp"
#include "grid.hpp"
#include "metrics.hpp"
#include "model.hpp"
#include "runtime.hpp"
#include "sim/profiling.hpp"
#include "streams.hpp"

namespace sim {
namespace {

thread_local int segment_of_thread __asm__("sim_segment_of_thread") = -1;

class simulated final : public profiling::profiled_device {
 public:
  std::string name() override { return described_device().name + ", simulated"; }
  bool modelled() const override { return true; }
  profiling::roofs measure_roofs(std::vector<std::string>&) override {
    const device_description& d = described_device();
    return {{{"FP32", d.fp32_flops_per_second}}, {{"DRAM", d.copy_bytes_per_second}, {"L2", d.l2_bytes_per_second}}};
  }

  void start(bool with_stacks) override {
    const std::scoped_lock lock(runtime_mutex());
    account_ = {};
    segments_.clear();
    epochs_.clear();
    overlaps.clear();
    with_stacks_ = with_stacks;
    first_ = launch_log().size();
    stream_listener = [](const stream_work& what) { the_device().note(what); };
  }
  void segment(int number) override { segment_of_thread = number; }

  profiling::device_account stop() override {
    const std::scoped_lock lock(runtime_mutex());
    stream_listener = nullptr;
    take_overlaps(nullptr);
    int unseen = 0;
    std::size_t faults = 0;
    std::string first_fault;
    for (const profiling::activity& a : account_.activities)
      for (const auto& o : a.overlaps)
        if (a.what != profiling::activity::kind::kernel && faults++ == 0) first_fault = o.what;  // kernels follow
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      const launched& l = launch_log()[first_ + i];
      for (const auto& [key, fault] : l.counts.faults)
        if (faults++ == 0) first_fault = describe(l, fault);
      unseen += l.registers == 0;  // from a library
      if (segments_[i] < 0) continue;
      profiling::metric_values& sums = account_.metrics[segments_[i]];
      for (const auto& [name, value] : metrics_of(l))
        if (name.ends_with(".sum")) sums[name] += value;
    }
    if (with_stacks_) add_lines();
    if (unseen > 0)
      account_.notes.push_back(fmt::format(
          "{} launches come from libraries: their times are modelled, and their loads and stores are not counted",
          unseen));
    if (faults > 0)
      account_.notes.push_back(
          fmt::format("the checkers found {} fault{}; the first: {}", faults, faults > 1 ? "s" : "", first_fault));
    if (sampling() > 1)
      account_.notes.push_back(
          fmt::format("one block in {} was observed (SIM_SAMPLE): counts are estimates", sampling()));
    return std::exchange(account_, {});
  }

  /// Only notes unknown metrics: the device has already counted all that it can.
  profiling::device_account count(const std::function<void()>&, const std::set<int>&,
                                  const std::vector<std::string>& metrics) override {
    profiling::device_account none;
    const profiling::metric_values known = metrics_of(launched());
    for (const std::string& name : metrics)
      if (!known.contains(name)) none.notes.push_back(name + " is not counted by the simulated device");
    return none;
  }

  bool owns_thread() override { return is_worker(); }

  static simulated& the_device() {
    static simulated device;
    return device;
  }

 private:
  void note(const stream_work& what) {
    profiling::activity a;
    using kind = profiling::activity::kind;
    a.what = what.what == stream_work::kind::kernel ? kind::kernel
             : what.what == stream_work::kind::copy ? kind::copy
                                                    : kind::fill;
    a.name = what.name;
    a.segment = segment_of_thread;
    a.lane = static_cast<std::uint64_t>(streams_.emplace(what.stream, 12 + streams_.size()).first->second);
    a.begin = nanoseconds(what.begin);
    a.end = nanoseconds(what.begin + what.seconds);
    a.bytes = what.bytes;
    if (a.what == kind::kernel) {
      const configuration& c = launch_log().back().config;
      a.grid = {c.grid.x, c.grid.y, c.grid.z};
      a.block = {c.block.x, c.block.y, c.block.z};
      segments_.push_back(a.segment);
    }
    if (with_stacks_) a.stack = profiling::stack_here();
    take_overlaps(&a);
    if (a.what == kind::kernel) {
      const launched& l = launch_log().back();
      for (const auto& [key, fault] : l.counts.faults)
        if (fault.what == fault::stream_race || fault.what == fault::early_access)
          note_overlap(a, describe(l, fault), static_cast<std::uint16_t>(fault.other_block));
      epochs_.emplace_back(l.first_epoch, l.last_epoch);
    } else {
      epochs_.emplace_back(what.epoch, what.epoch);
    }
    account_.activities.push_back(std::move(a));
  }

  /// Takes the reports since the last activity, which are about the next one or earlier copies.
  void take_overlaps(profiling::activity* next) {
    for (const overlap& o : std::exchange(overlaps, {}))
      if (next && o.epoch != 0)
        note_overlap(*next, o.what, o.epoch);
      else
        for (profiling::activity& a : account_.activities)
          if (a.name == "copy to the device" && a.begin == nanoseconds(o.begin)) a.overlaps.push_back({o.what, {}});
  }

  void note_overlap(profiling::activity& later, const std::string& what, std::uint16_t epoch) const {
    std::size_t i = epochs_.size();
    while (i > 0 && (epoch < epochs_[i - 1].first || epochs_[i - 1].second < epoch)) --i;
    if (i == 0) return;  // from before the recording
    const profiling::activity& earlier = account_.activities[i - 1];
    later.overlaps.push_back({what, std::pair(earlier.lane, earlier.begin)});
  }

  static profiling::nanoseconds nanoseconds(double seconds) {
    return static_cast<profiling::nanoseconds>(std::llround(1e9 * seconds));
  }

  void add_lines() {
    std::size_t launch = first_;
    for (profiling::activity& a : account_.activities) {
      if (a.what != profiling::activity::kind::kernel) continue;
      for (const auto& [line, seconds] : seconds_by_line(launch_log()[launch]))
        if (!line.first.starts_with("/usr/") &&
            line.first.find("/sim/include/") == std::string::npos)  // not the program's
          a.lines.emplace_back(fmt::format("{}:{}", line.first.substr(line.first.rfind('/') + 1), line.second),
                               seconds);
      ++launch;
    }
  }

  profiling::device_account account_;
  bool with_stacks_ = false;
  std::size_t first_ = 0;                                        // launch of the recording
  std::vector<int> segments_;                                    // of the recording's launches
  std::vector<std::pair<std::uint16_t, std::uint16_t>> epochs_;  // each activity's first and last
  std::map<cudaStream_t, std::size_t> streams_{{nullptr, 7}};    // as Nsight Compute numbers them
};

}  // namespace
}  // namespace sim

extern "C" sim::profiling::profiled_device* lab_profiled_device() { return &sim::simulated::the_device(); }
