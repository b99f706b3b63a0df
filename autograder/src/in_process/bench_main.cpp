// Google Benchmark for a lab's cases: host functions by wall clock, device functions by events on a GPU. On the
// simulated device the time is modelled, and the label says so.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "in_process/in_process_executor.hpp"
#include "judge/subject.hpp"
#include "lab/ceilings.hpp"

namespace {

using namespace grading;

constexpr double smallest = 64 << 10;  // bytes; below that only the launch is measured

bool fits_in_memory(const lab::test_case& c) {
  const double available = static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return 4 * c.work.bytes < available;  // shared buffers, the judge's copies, expected values, and some margin
}

bool worth_timing(const lab::test_case& c, bool simulated) {
  if (c.timed && simulated && c.where == lab::part::device) return false;  // simulating it would take hours
  return c.work.bytes >= smallest && (!c.timed || fits_in_memory(c));
}

/// Seconds of one call; negative if it failed, and `t` then says why.
double seconds_of_call(const lab::test_case& c, subject& s, prepared_case& ready, trial& t) {
  if (c.where == lab::part::host) {
    const double start = lab::raw_seconds();
    t = s.call(ready);
    const double seconds = lab::raw_seconds() - start;
    return t.ok() ? seconds : -1;
  }
  if (s.backend() != backend::sim) {
    ready.request.what = lab::action::time;
    ready.request.pairs = 1;
    ready.request.copy_bytes = c.work.bytes / 2;
  }
  t = s.call(ready);
  if (!t.ok()) return -1;
  if (s.backend() != backend::sim) return t.response.call_seconds.empty() ? -1 : t.response.call_seconds.front();
  double modelled = 0;
  for (const lab::launch_record& launch : t.response.launches) modelled += launch.modelled_seconds;
  return modelled;
}

void time_case(benchmark::State& state, const lab::test_case& c, subject& s) {
  prepared_case ready = s.prepare(c);
  trial t = s.call(ready);
  s.check(ready, t);
  if (!t.ok()) return state.SkipWithError(t.message.c_str());
  while (state.KeepRunning()) {
    const double seconds = seconds_of_call(c, s, ready, t);
    if (seconds < 0) {
      state.SkipWithError(t.message.empty() ? "could not time the call" : t.message.c_str());
      break;
    }
    state.SetIterationTime(seconds);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(c.work.bytes * static_cast<double>(state.iterations())));
  const bool modelled = c.where == lab::part::device && s.backend() == backend::sim;
  state.SetLabel(modelled ? "modelled" : "measured");
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const bool simulated = this_backend() == backend::sim;
  subject s(this_backend(), std::make_unique<in_process_executor>(), /*seed=*/1);
  for (const lab::test_case& c : lab::cases_of(lab_name)) {
    if (!worth_timing(c, simulated)) continue;
    auto* registered =
        benchmark::RegisterBenchmark(c.id.c_str(), [&c, &s](benchmark::State& state) { time_case(state, c, s); });
    registered->UseManualTime();
    if (simulated && c.where == lab::part::device) registered->Iterations(1);  // the model's time never varies
  }
  benchmark::RunSpecifiedBenchmarks();
}
