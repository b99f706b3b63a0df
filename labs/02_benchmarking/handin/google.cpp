// Three loops, timed by Google Benchmark, and its question: do two series of times differ? The loops are in loops.hpp.
#include "benchmark.hpp"
#include "loops.hpp"

#include <vector>

namespace lab02 {
namespace {

// TODO(lab02.google_loops): all sizes, the result used, counters. Then "scale" in the same way.
void time_sum(benchmark::State& state) {
  const std::vector<float> x(4096, 1.0f);
  for (auto _ : state) sum(x);
}

/// A fixture: each series calls SetUp, BenchmarkCase and TearDown once. Only BenchmarkCase's loop is timed.
// TODO(lab02.google_sort): what does the second iteration sort?
struct sorting : benchmark::Fixture {
  void SetUp(benchmark::State& state) override { x = random_floats(static_cast<std::size_t>(state.range(0)), 1); }
  void BenchmarkCase(benchmark::State& state) override {
    for (auto _ : state) sort(x);
  }
  std::vector<float> x;
};

}  // namespace

void register_benchmarks() {
  benchmark::RegisterBenchmark("sum", time_sum)->Arg(4096);
  benchmark::RegisterBenchmark("sort", [](benchmark::State& state) { sorting().Run(state); })->Arg(1024)->Arg(16384);
}

double p_value(std::span<const double> one, std::span<const double> other) {
  // TODO(lab02.two_versions)
  return one.size() == other.size() ? 1.0 : 0.5;
}

}  // namespace lab02
