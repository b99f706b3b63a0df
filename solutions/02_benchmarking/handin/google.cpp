// Three loops, timed by Google Benchmark, and its question: do two series of times differ? See WORKLOG.md.
#include "benchmark.hpp"
#include "loops.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lab02 {
namespace {

/// An iteration's bytes and floating-point operations, as rates.
void count(benchmark::State& state, double bytes, double flops) {
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
  state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

//! [loops]
void time_sum(benchmark::State& state) {
  const std::vector<float> x = random_floats(static_cast<std::size_t>(state.range(0)), 1);
  for (auto _ : state) benchmark::DoNotOptimize(sum(x));
  count(state, 4.0 * static_cast<double>(x.size()), static_cast<double>(x.size()));
}

void time_scale(benchmark::State& state) {
  const std::vector<float> x = random_floats(static_cast<std::size_t>(state.range(0)), 1);
  std::vector<float> y(x.size());
  for (auto _ : state) {
    scale(y, x, 2.0f);
    benchmark::DoNotOptimize(y.data());
    benchmark::ClobberMemory();  // it reads all of y
  }
  count(state, 8.0 * static_cast<double>(x.size()), static_cast<double>(x.size()));
}
//! [loops]

//! [sort]
/// Each iteration sorts new numbers: sorted ones take less time, and a branch predictor remembers those that it has
/// seen. SetUp makes the whole series' numbers, since a pause in each iteration takes longer than sorting 16.
struct sorting : benchmark::Fixture {
  void SetUp(benchmark::State& state) override {
    n = static_cast<std::size_t>(state.range(0));
    supply = random_floats(n * static_cast<std::size_t>(state.max_iterations), 1);
  }
  void BenchmarkCase(benchmark::State& state) override {
    std::span<float> left = supply;
    for (auto _ : state) {
      sort(left.first(n));
      benchmark::DoNotOptimize(left.data());
      left = left.subspan(n);
    }
  }
  std::size_t n = 0;
  std::vector<float> supply;
};
//! [sort]

}  // namespace

void register_benchmarks() {
  constexpr std::int64_t least = 1 << 12, most = 1 << 21;
  benchmark::RegisterBenchmark("sum", time_sum)->RangeMultiplier(8)->Range(least, most);
  benchmark::RegisterBenchmark("scale", time_scale)->RangeMultiplier(8)->Range(least, most);
  benchmark::RegisterBenchmark("sort", [](benchmark::State& state) { sorting().Run(state); })
      ->Arg(1 << 4)
      ->Arg(1 << 10)
      ->Arg(1 << 14);
}

/// U counts pairs in which the first series has the larger value; a tie counts as half.
double p_value(std::span<const double> one, std::span<const double> other) {
  std::vector<double> first(one.begin(), one.end()), second(other.begin(), other.end());
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  const auto n = static_cast<double>(one.size()), m = static_cast<double>(other.size()), both = n + m;
  double u = 0;
  for (const double v : first) {
    const auto [below, above] = std::equal_range(second.begin(), second.end(), v);
    u += 0.5 * static_cast<double>((below - second.begin()) + (above - second.begin()));
  }
  std::vector<double> all(first);
  all.insert(all.end(), second.begin(), second.end());
  std::sort(all.begin(), all.end());
  double ties = 0;
  for (auto at = all.begin(); at != all.end();) {
    const auto next = std::upper_bound(at, all.end(), *at);
    const auto equal = static_cast<double>(next - at);
    ties += equal * equal * equal - equal;
    at = next;
  }
  const double variance = n * m / 12 * (both + 1 - ties / (both * (both - 1)));
  return variance > 0 ? std::erfc(std::abs(u - n * m / 2) / std::sqrt(2 * variance)) : 1.0;
}

}  // namespace lab02
