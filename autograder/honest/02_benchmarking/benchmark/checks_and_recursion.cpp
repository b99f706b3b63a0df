// Trust nothing, check everything.
#include "benchmark.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string_view>
#include <vector>

#ifndef BENCHMARK_DEBUG
#define BENCHMARK_DEBUG 0
#endif

namespace lab02::checks {

inline void require(bool ok, std::string_view what) {
  if (!ok) throw std::logic_error(std::string("benchmark: ") + std::string(what));
}

template <class... T>
void log(const T&... t) {
  if constexpr (BENCHMARK_DEBUG) ((std::cerr << t << ' '), ...) << '\n';
}

}  // namespace lab02::checks

namespace lab02 {
namespace {

using std::ranges::sort;
using clock_t_ = std::function<double()>;

std::optional<double> rank(const std::vector<double>& sorted, std::ptrdiff_t i) {
  if (i < 0 || i >= std::ssize(sorted)) return std::nullopt;
  return sorted[static_cast<std::size_t>(i)];
}

double median(std::vector<double> v) {
  checks::require(!v.empty(), "a median of nothing");
  sort(v);
  const auto n = std::ssize(v);
  return (rank(v, (n - 1) / 2).value() + rank(v, n / 2).value()) / 2;
}

/// The smallest step of a clock, with the cost of reading it.
double resolution(machine& m, const clock_t_& now) {
  std::function<double(double, int, double)> look = [&](double least, int left, double pause) -> double {
    if (left == 0) return least;
    const double a = now();
    if (pause > 0) m.rest(pause);
    const double d = now() - a;
    assert(d >= 0);
    if (d == 0) return look(least, left - 1, std::isinf(least) ? (pause == 0 && left > 1500 ? 0 : std::max(pause, 1e-8) * 1.02) : pause);
    return look(std::min(least, d), left - 1, pause);
  };
  return look(std::numeric_limits<double>::infinity(), 2000, 0);
}

}  // namespace

timing benchmark(machine& m, const options& how) try {
  checks::require(how.least_samples > 0, "least_samples must be positive");
  checks::require(how.relative_error > 0, "relative_error must be positive");
  const clock_t_ now = [&m] { return m.steady_seconds(); };
  const double deadline = now() + how.budget_seconds;
  double full_speed = m.clock_share();

  const auto cool = [&]() -> bool {
    const double share = m.clock_share();
    if (share >= full_speed) return full_speed = share, true;
    while (m.clock_share() < full_speed && now() < deadline) m.rest(0.02);
    return false;
  };
  const auto timed = [&](int calls) -> std::optional<double> {
    m.prepare(calls);
    m.touch();
    if (how.cold) m.flush_caches();
    m.wait_for_device();
    const double begin = now();
    for (const int i : std::views::iota(0, calls)) {
      const result r = m.run(i);
      m.keep(r);
      m.wait_for_device();
    }
    const double end = now();
    checks::require(end >= begin, "the steady clock went back");
    return cool() ? std::optional(end - begin) : std::nullopt;
  };

  const double step = resolution(m, now);
  checks::log("resolution", step);

  constexpr int warm_up = 10;
  for (int i = 0; i < warm_up; ++i) (void)timed(1);

  const std::function<int(int)> calibrate = [&](int calls) -> int {
    if (how.cold || calls >= 1 << 17) return calls;
    const double took = timed(calls).value_or(0);
    return took >= 300 * step ? calls : calibrate(2 * calls);
  };
  const int calls = calibrate(1);
  checks::log("calls per sample", calls);

  const auto empty = [&](int times) {
    m.wait_for_device();
    const double begin = now();
    for (int i = 0; i < times; ++i) {
      m.run_nothing();
      m.wait_for_device();
    }
    return (now() - begin) / times;
  };
  std::vector<double> overheads(9);
  std::ranges::generate(overheads, [&] { return empty(std::max(50, calls)); });
  timing out;
  out.overhead_seconds = median(overheads);

  std::vector<double> samples;
  const auto precise = [&] {
    if (std::ssize(samples) < how.least_samples) return false;
    std::vector<double> s = samples;
    sort(s);
    const auto n = std::ssize(s);
    const auto half = static_cast<std::ptrdiff_t>(std::min(std::ceil(1.5 * std::sqrt(static_cast<double>(n))), n / 2 - 1.0));
    const auto low = rank(s, n / 2 - half), high = rank(s, n / 2 + half);
    return low && high && (*high - *low) / 6 <= how.relative_error * median(s);
  };
  for (double last = 0; !precise();) {
    const double before = now();
    if (std::ssize(samples) >= how.least_samples && before + last > deadline) break;
    if (const auto s = timed(calls)) {
      samples.push_back(std::max(0.0, *s / calls - out.overhead_seconds));
      last = now() - before;
    } else {
      ++out.dropped;
      if (now() > deadline) break;
    }
  }
  checks::require(!samples.empty(), "not one good sample");

  sort(samples);
  const auto n = std::ssize(samples);
  out.samples = static_cast<int>(n);
  out.median_seconds = median(samples);
  out.low_seconds = rank(samples, n / 10).value();
  out.high_seconds = rank(samples, n - 1 - n / 10).value();
  // Distances from the median: far is ten times the usual one.
  std::vector<double> far;
  std::ranges::transform(samples, std::back_inserter(far), [&](double s) { return std::abs(s - out.median_seconds); });
  const double q1 = rank(samples, n / 4).value(), q3 = rank(samples, n - 1 - n / 4).value();
  out.outliers = static_cast<int>(std::ranges::count_if(
      far, [&](double d) { return d > 4 * (q3 - q1) + 0.2 * out.median_seconds; }));
  return out;
} catch (const std::exception& e) {
  std::cerr << e.what() << '\n';
  throw;
}

}  // namespace lab02
