// lab::profile: listens to ranges, repeats the work to measure what one run cannot, and adds up the results by path.
#include "lab/profiler.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <numeric>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "lab/environment.hpp"
#include "recording.hpp"
#include "sim/counters.hpp"

namespace lab {
namespace {

profiled_device* device_of_program() { return lab_profiled_device ? lab_profiled_device() : nullptr; }

/// The listener. One per process, never destroyed: a range may end after its recording.
class recorder final : public range_listener {
 public:
  void enter(std::string_view name, double flops, double bytes) override {
    if (outer_) outer_->enter(name, flops, bytes);
    thread_state& mine = state_of_thread();
    if (mode_ == mode::recording) {
      if (mine.leads) count_processor(mine);
      const std::scoped_lock lock(mutex_);
      range_run run;
      run.parent = mine.open.empty() ? -1 : mine.open.back();
      run.name = name;
      run.thread = mine.number;
      run.declared = {.flops = flops, .bytes = bytes};
      mine.open.push_back(static_cast<int>(taken_.runs.size()));
      taken_.runs.push_back(std::move(run));
    } else {
      mine.open.push_back(0);
    }
    boundary(mine);
    if (mode_ == mode::recording) {
      const std::scoped_lock lock(mutex_);
      taken_.runs[static_cast<std::size_t>(mine.open.back())].begin = host_now();
    }
  }

  void leave() override {
    const nanoseconds end = host_now();
    if (outer_) outer_->leave();
    thread_state& mine = state_of_thread();
    if (mine.open.empty()) return;  // this range began before the recording
    if (mode_ == mode::recording) {
      if (mine.leads) count_processor(mine);
      const std::scoped_lock lock(mutex_);
      taken_.runs[static_cast<std::size_t>(mine.open.back())].end = end;
    }
    mine.open.pop_back();
    boundary(mine);
  }

  void start(bool with_stacks) {
    begin(mode::recording);
    taken_ = {};
    order_.clear();
    counters_.emplace();
    taken_.counted_processor = counters_->refused().empty();
    device_ = device_of_program();
    if (device_) device_->start(with_stacks);
    last_counts_ = counters_->read();
    listen(true);
  }

  recording stop() {
    listen(false);
    if (device_) taken_.device = device_->stop();
    if (!counters_->refused().empty() && taken_.device.activities.empty())
      taken_.device.notes.push_back(counters_->refused());
    counters_.reset();
    mode_ = mode::off;
    const nanoseconds now = host_now();
    for (range_run& run : taken_.runs)
      if (run.end == 0) run.end = now;
    return std::exchange(taken_, {});
  }

  /// Runs `once`, telling the device the segments that the thread had in the recording.
  void replay(const std::function<void()>& once) {
    begin(mode::replaying);
    listen(true);
    struct ending {
      recorder* of;
      ~ending() {
        of->listen(false);
        of->mode_ = mode::off;
      }
    } const at_the_end{this};
    once();
    if (state_of_thread().boundaries != order_.size())
      throw std::runtime_error(
          "the work has different ranges each time it runs; to read counters it must do the same each time");
  }

 private:
  enum class mode { off, recording, replaying };
  struct thread_state {
    std::uint64_t generation = 0;
    int number = 0;
    bool leads = false;  // whether this is the thread that started the recording
    std::vector<int> open;
    std::size_t boundaries = 0;
  };

  thread_state& state_of_thread() {
    static thread_local thread_state mine;
    if (mine.generation != generation_) {
      const std::scoped_lock lock(mutex_);
      mine = {generation_, threads_++, false, {}, 0};
    }
    return mine;
  }

  void begin(mode what) {
    if (mode_ != mode::off)
      throw std::logic_error("profiles cannot be nested: run() was called inside another profile's run()");
    ++generation_;
    threads_ = 0;
    state_of_thread().leads = true;
    mode_ = what;
  }
  void listen(bool on) {
    if (on)
      outer_ = range_listener::current.exchange(this);
    else
      range_listener::current = outer_;
  }

  void boundary(thread_state& mine) {
    int number = -1;
    if (mode_ == mode::recording) {
      const std::scoped_lock lock(mutex_);
      if (!mine.open.empty()) {
        number = static_cast<int>(taken_.segments.size());
        taken_.segments.push_back(mine.open.back());
      }
      if (mine.leads) order_.push_back(number);
    } else if (mode_ == mode::replaying && mine.leads) {
      if (mine.boundaries < order_.size()) number = order_[mine.boundaries];
      ++mine.boundaries;
    }
    if (device_ && (mode_ == mode::recording || (mode_ == mode::replaying && mine.leads))) device_->segment(number);
  }

  void count_processor(thread_state& mine) {
    if (!taken_.counted_processor) return;
    const processor_counts now = counters_->read();
    if (!mine.open.empty()) {
      const std::scoped_lock lock(mutex_);
      range_run& run = taken_.runs[static_cast<std::size_t>(mine.open.back())];
      for (std::size_t i = 0; i < now.values.size(); ++i)
        run.counts.values[i] += now.values[i] - last_counts_.values[i];
    }
    last_counts_ = now;
  }

  std::mutex mutex_;
  std::atomic<mode> mode_{mode::off};
  std::atomic<std::uint64_t> generation_{0};
  int threads_ = 0;
  recording taken_;
  std::vector<int> order_;  // segments of the leading thread, -1 outside any
  std::optional<processor_counters> counters_;
  processor_counts last_counts_;
  profiled_device* device_ = nullptr;
  range_listener* outer_ = nullptr;  // NVTX, if a tool listens
};

recorder& the_recorder() {
  static recorder* const forever = new recorder;
  return *forever;
}

/// The length of the intervals' union.
nanoseconds covered(std::vector<std::pair<nanoseconds, nanoseconds>>& intervals) {
  std::sort(intervals.begin(), intervals.end());
  nanoseconds length = 0, reached = std::numeric_limits<nanoseconds>::min();
  for (const auto& [begin, end] : intervals) {
    if (end > reached) length += end - std::max(begin, reached);
    reached = std::max(reached, end);
  }
  return length;
}

double rate_named(const std::vector<std::pair<std::string, double>>& rates, std::string_view name) {
  for (const auto& [known, rate] : rates)
    if (known == name) return rate;
  return rates.empty() ? 0.0 : rates.front().second;
}

double value_of(const metric_values& metrics, sim::counter_name name) {
  const auto found = metrics.find(name.text);
  return found == metrics.end() ? 0.0 : found->second;
}

void bound(profile::row& r, const roofs& on) {
  if (on.flops_per_second.empty() || on.bytes_per_second.empty()) return;
  // The roof for the range's operations: the tensor cores' if it uses them.
  std::string_view unit = "FP32";
  if (value_of(r.metrics, "sm__ops_path_tensor_src_tf32_dst_fp32.sum") > 0) unit = "TF32 tensor";
  if (value_of(r.metrics, "sm__ops_path_tensor_src_bf16_dst_fp32.sum") > 0) unit = "bf16 tensor";
  const double arithmetic = r.declared.flops / rate_named(on.flops_per_second, unit);
  const double dram = on.bytes_per_second.front().second, cache = on.bytes_per_second.back().second;
  if (r.declared.flops > 0 || r.declared.bytes > 0)
    r.bound_seconds = {std::max(arithmetic, r.declared.bytes / dram), std::max(arithmetic, r.declared.bytes / cache),
                       0};
  const double through_dram =
      value_of(r.metrics, "dram__bytes_read.sum") + value_of(r.metrics, "dram__bytes_write.sum");
  const double through_l2 =
      32 * (value_of(r.metrics, "lts__t_sectors_op_read.sum") + value_of(r.metrics, "lts__t_sectors_op_write.sum"));
  if (through_dram > 0 || through_l2 > 0)
    r.bound_seconds.measured = std::max({arithmetic, through_dram / dram, through_l2 / cache});
}

}  // namespace

void start_recording(bool with_stacks) { the_recorder().start(with_stacks); }
recording stop_recording() { return the_recorder().stop(); }

std::vector<profile::row> profile_contents::rows() const {
  std::map<std::string, profile::row> by_path;
  for (const recording& rec : recordings) {
    const std::size_t n = rec.runs.size();
    std::vector<std::string> paths(n);
    std::vector<work> declared(n);
    std::vector<std::vector<std::pair<nanoseconds, nanoseconds>>> own(n), all(n);
    std::vector<int> launches_own(n), launches_all(n);
    std::vector<metric_values> metrics(n);
    for (std::size_t i = 0; i < n; ++i) {
      const range_run& run = rec.runs[i];
      declared[i] = run.declared;
      paths[i] = run.parent < 0 ? run.name : paths[static_cast<std::size_t>(run.parent)] + "/" + run.name;
      if (rec.counted_processor)
        for (std::size_t k = 0; k < run.counts.values.size(); ++k)
          metrics[i][processor_counts::names[k]] = run.counts.values[k];
    }
    for (const activity& a : rec.device.activities) {
      if (a.segment < 0 || a.what == activity::kind::call) continue;
      const auto run = static_cast<std::size_t>(rec.segments[static_cast<std::size_t>(a.segment)]);
      own[run].emplace_back(a.begin, a.end);
      launches_own[run] += a.what == activity::kind::kernel;
    }
    for (const auto& [segment, values] : rec.device.metrics)
      for (const auto& [name, value] : values)
        metrics[static_cast<std::size_t>(rec.segments[static_cast<std::size_t>(segment)])][name] += value;
    for (std::size_t i = n; i-- > 0;) {  // children come after their parents
      all[i].insert(all[i].end(), own[i].begin(), own[i].end());
      launches_all[i] += launches_own[i];
      if (rec.runs[i].parent < 0) continue;
      const auto parent = static_cast<std::size_t>(rec.runs[i].parent);
      all[parent].insert(all[parent].end(), all[i].begin(), all[i].end());
      launches_all[parent] += launches_all[i];
      for (const auto& [name, value] : metrics[i]) metrics[parent][name] += value;
      if (rec.runs[parent].declared.flops == 0 && rec.runs[parent].declared.bytes == 0) {
        declared[parent].flops += declared[i].flops;
        declared[parent].bytes += declared[i].bytes;
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      const range_run& run = rec.runs[i];
      const double seconds = 1e-9 * static_cast<double>(run.end - run.begin);
      profile::row& r = by_path[paths[i]];
      r.path = paths[i];
      ++r.calls;
      r.host_seconds += seconds;
      r.host_self_seconds += seconds;
      if (run.parent >= 0) by_path[paths[static_cast<std::size_t>(run.parent)]].host_self_seconds -= seconds;
      r.device_seconds += 1e-9 * static_cast<double>(covered(all[i]));
      r.device_self_seconds += 1e-9 * static_cast<double>(covered(own[i]));
      r.launches += launches_all[i];
      r.launches_self += launches_own[i];
      r.declared.flops += declared[i].flops;
      r.declared.bytes += declared[i].bytes;
      for (const auto& [name, value] : metrics[i]) r.metrics[name] += value;
    }
  }
  std::vector<profile::row> sorted;
  sorted.reserve(by_path.size());
  for (auto& [path, r] : by_path) {
    bound(r, r.device_seconds > 0 ? on_device : processor);
    sorted.push_back(std::move(r));
  }
  const bool by_device = std::any_of(sorted.begin(), sorted.end(), [](const auto& r) { return r.device_seconds > 0; });
  std::stable_sort(sorted.begin(), sorted.end(), [&](const profile::row& a, const profile::row& b) {
    return by_device ? a.device_seconds > b.device_seconds : a.host_seconds > b.host_seconds;
  });
  return sorted;
}

profile_contents profile_contents::part(bool with_device) const {
  profile_contents some = *this;
  std::erase_if(some.recordings, [&](const recording& r) { return r.device.activities.empty() == with_device; });
  if (!with_device) some.device.clear();
  return some;
}

struct profile::state {
  std::vector<std::string> metrics;
  profile_contents contents;
  profiled_device* device = device_of_program();

  void note(const std::vector<std::string>& notes) {
    for (const std::string& n : notes)
      if (std::find(contents.notes.begin(), contents.notes.end(), n) == contents.notes.end())
        contents.notes.push_back(n);
  }
};

profile::profile(std::vector<std::string> metrics) : state_(std::make_unique<state>()) {
  state_->metrics = std::move(metrics);
  state_->contents.when = environment()["date"];
  state_->contents.flame = std::getenv("LAB_PROFILE_FLAME") != nullptr;  // ./course profile --flame
}
profile::~profile() = default;

namespace {

/// Samples stacks, repeating the work until there are enough; one second gives a few hundred.
cpu_samples sampled(const std::function<void()>& work, profiled_device* device) {
  constexpr double enough_seconds = 1;
  constexpr int most_runs = 1000;
  int runs = 0;
  const nanoseconds begin = host_now();
  start_sampling(device);
  try {
    do work();
    while (++runs < most_runs && 1e-9 * static_cast<double>(host_now() - begin) < enough_seconds);
  } catch (...) {
    (void)stop_sampling();
    throw;
  }
  cpu_samples taken = stop_sampling();
  taken.seconds_each /= runs;
  return taken;
}

/// On a terminal, prints what is running.
void say(const char* what) {
  if (isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "profile: %s\n", what);
}

}  // namespace

void profile::run(std::string_view name, const std::function<void()>& work) {
  const auto once = [&] {
    const range whole(name);
    work();
  };
  state& s = *state_;
  const auto record = [&] {
    start_recording(s.contents.flame);
    try {
      once();
    } catch (...) {
      (void)stop_recording();
      throw;
    }
    return stop_recording();
  };
  // A simulated run repeats exactly. Other runs need caches, clocks and allocators in a steady state.
  const bool simulated = s.device && s.device->modelled();
  if (!simulated) {
    say("a first run, which warms up");
    work();
  }
  say("a run whose ranges are timed");
  recording taken = record();
  if (simulated && taken.device.activities.empty()) taken = record();
  if (s.device && !taken.device.activities.empty()) {
    std::set<int> busy;
    for (const activity& a : taken.device.activities)
      if (a.segment >= 0 && a.what != activity::kind::call) busy.insert(a.segment);
    std::exception_ptr thrown;  // goes to the caller; an exception from the counters becomes a note
    const auto rerun = [&] {
      the_recorder().replay([&] {
        try {
          once();
        } catch (...) {
          thrown = std::current_exception();
          throw;
        }
      });
    };
    say("further runs, whose launches are counted");
    device_account counted = s.device->count(rerun, busy, s.metrics);
    if (thrown) std::rethrow_exception(thrown);
    for (auto& [segment, values] : counted.metrics) taken.device.metrics[segment].merge(values);
    s.note(counted.notes);
  }
  if (s.contents.flame) {
    say("further runs, whose stacks are sampled");
    taken.samples = sampled(work, s.device);
  }
  s.note(taken.device.notes);
  if (!taken.device.activities.empty() && s.contents.device.empty()) {
    s.contents.device = s.device->name();
    s.contents.modelled = s.device->modelled();
    std::vector<std::string> notes;
    s.contents.on_device = s.device->measure_roofs(notes);
    s.note(notes);
  }
  if (s.contents.processor.flops_per_second.empty()) {
    say("what this processor reaches at best");
    s.contents.processor = processor_roofs();
  }
  s.contents.recordings.push_back(std::move(taken));
}

std::vector<profile::row> profile::rows() const { return state_->contents.rows(); }
std::vector<std::string> profile::notes() const { return state_->contents.notes; }
void profile::table(std::ostream& out) const { out << table_of(state_->contents); }

void profile::write(const std::filesystem::path& directory) const { write_profile(state_->contents, directory); }

void profile::report() const {
  const char* const wanted = std::getenv("LAB_PROFILE");
  const std::filesystem::path directory = wanted && *wanted ? wanted : "profile";
  write(directory);
  std::cout << '\n' << table_of(state_->contents) << '\n';
  for (const auto& [file, use] : {std::pair{"table.txt", "this table"},
                                  {"profile.json", "everything, for scripts"},
                                  {"trace.json", "the timeline: open it in ui.perfetto.dev or chrome://tracing"},
                                  {"flame.folded", "the flame graph: open it in www.speedscope.app"},
                                  {"roofline.svg", "the roofline"},
                                  {"roofline_host.svg", "the roofline of what ran on the CPU"}})
    if (std::filesystem::exists(directory / file)) {
      std::cout << std::left << std::setw(static_cast<int>(directory.string().size()) + 20)
                << (directory / file).string() << use << '\n';
    }
  if (!std::filesystem::exists(directory / "roofline.svg"))
    std::cout << "no roofline plot: gnuplot is missing (package gnuplot-nox), or no roof was measured\n";
  std::cout.flush();
}

void write_profile(const profile_contents& what, const std::filesystem::path& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  const auto put = [&](const char* name, const std::string& text) {
    std::ofstream out(directory / name);
    if (!(out << text).flush())
      throw std::runtime_error("cannot write " + (directory / name).string() +
                               "; name a directory that you may write to");
  };
  put("table.txt", table_of(what));
  put("profile.json", json_of(what));
  put("trace.json", trace_of(what));
  for (const char* old : {"flame.folded", "roofline.svg", "roofline_host.svg"})
    std::filesystem::remove(directory / old, failed);
  if (what.flame) put("flame.folded", folded_of(what));
  const std::string of_device = roofline_svg_of(what.part(true)), of_host = roofline_svg_of(what.part(false));
  if (!of_device.empty()) put("roofline.svg", of_device);
  if (!of_host.empty()) put(of_device.empty() ? "roofline.svg" : "roofline_host.svg", of_host);
}

}  // namespace lab
