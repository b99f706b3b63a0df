// For google: lambdas, KeepRunning, manual times, units and names of arguments; p_value by ranks, corrected for continuity.
#include "benchmark.hpp"
#include "loops.hpp"

#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <vector>

using benchmark::State;

std::mt19937 numbers(7);

static std::unique_ptr<float[]> filled(std::size_t n) {
  auto all = std::make_unique<float[]>(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = std::normal_distribution<float>(0, 3)(numbers);
  return all;
}

void lab02::register_benchmarks() {
  for (const std::int64_t n : {4096, 32768, 262144, 2097152}) {
    const auto size = static_cast<std::size_t>(n);
    benchmark::RegisterBenchmark("sum", [=](State& state) {
      const auto x = filled(size);
      while (state.KeepRunning()) {
            float total = sum({x.get(), size});
            benchmark::DoNotOptimize(total);
            benchmark::ClobberMemory();
          }
          const double all = static_cast<double>(n) * static_cast<double>(state.iterations());
      state.counters["flops"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
      state.SetBytesProcessed(4 * n * state.iterations());
      state.SetLabel("read");
    })->Arg(n)->ArgName("n")->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark("scale", [=](State& state) {
      const auto x = filled(size), y = filled(size);
      for ([[maybe_unused]] auto unused : state) {
        scale({y.get(), size}, {x.get(), size}, 0.5f);
        benchmark::ClobberMemory();
      }
      state.counters["flops"] = {static_cast<double>(n), benchmark::Counter::kIsIterationInvariantRate};
      state.SetBytesProcessed(8 * n * state.iterations());
      state.SetItemsProcessed(n * state.iterations());
    })->Arg(n)->UseRealTime();
  }
  benchmark::RegisterBenchmark("sort", [](State& state) {
    const auto size = static_cast<std::size_t>(state.range(0));
    for ([[maybe_unused]] auto unused : state) {
      const auto x = filled(size);
      const auto start = std::chrono::steady_clock::now();
      sort({x.get(), size});
      benchmark::DoNotOptimize(x[0]);
      state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  })->Arg(16)->Arg(1024)->Arg(16384)->UseManualTime()->Unit(benchmark::kMillisecond);
}

double lab02::p_value(std::span<const double> one, std::span<const double> other) {
  std::map<double, std::pair<double, double>> seen;  // how often in each
  for (const double v : one) ++seen[v].first;
  for (const double v : other) ++seen[v].second;
  double rank = 0, ranks = 0, ties = 0;
  for (const auto& [value, times] : seen) {
    const double t = times.first + times.second;
    ranks += times.first * (rank + (t + 1) / 2);
    rank += t;
    ties += t * (t - 1) * (t + 1);
  }
  const double n = static_cast<double>(one.size()), m = static_cast<double>(other.size());
  const double u = ranks - n * (n + 1) / 2, deviation = std::sqrt(n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1))));
  if (!(deviation > 0)) return 1;
  return std::erfc(std::max(std::abs(u - n * m / 2) - 0.5, 0.0) / deviation / std::sqrt(2.0));
}
