#include "benchmark.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace lab02 {

namespace util {
class Stopwatch {
  machine& m;
  double started = 0;

 public:
  explicit Stopwatch(machine& m) : m(m) {}
  void start() { started = m.steady_seconds(); }
  double stop() const { return m.steady_seconds() - started; }
};
}  // namespace util

namespace strategy {

class CacheStrategy {
 public:
  virtual ~CacheStrategy() = default;
  virtual void beforeSample(machine& m) const = 0;
  virtual int mostCalls() const = 0;
};
class ColdCaches : public CacheStrategy {
 public:
  void beforeSample(machine& m) const override {
    m.flush_caches();
    m.wait_for_device();
  }
  int mostCalls() const override { return 1; }
};
class WarmCaches : public CacheStrategy {
 public:
  void beforeSample(machine& m) const override { m.wait_for_device(); }
  int mostCalls() const override { return 1 << 18; }
};
class CacheStrategyFactory {
 public:
  static std::unique_ptr<CacheStrategy> create(const options& o) {
    if (o.cold) return std::make_unique<ColdCaches>();
    return std::make_unique<WarmCaches>();
  }
};

class Workload {
 public:
  virtual ~Workload() = default;
  virtual void prepare(machine& m, int calls) const = 0;
  virtual void call(machine& m, int i) const = 0;
};
class RealWork : public Workload {
  std::shared_ptr<const CacheStrategy> caches;

 public:
  explicit RealWork(std::shared_ptr<const CacheStrategy> c) : caches(std::move(c)) {}
  void prepare(machine& m, int calls) const override {
    m.prepare(calls);
    m.touch();
    caches->beforeSample(m);
  }
  void call(machine& m, int i) const override {
    m.keep(m.run(i));
    m.wait_for_device();
  }
};
class EmptyWork : public Workload {
 public:
  void prepare(machine& m, int) const override { m.wait_for_device(); }
  void call(machine& m, int) const override {
    m.run_nothing();
    m.wait_for_device();
  }
};

}  // namespace strategy

class Statistics {
  std::vector<double> sorted;

 public:
  explicit Statistics(std::vector<double> v) : sorted(std::move(v)) {
    if (sorted.empty()) throw std::invalid_argument("no samples");
    std::sort(sorted.begin(), sorted.end());
  }
  double quantile(double q) const {
    const double at = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const auto above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], at - std::floor(at));
  }
  double median() const { return quantile(0.5); }
  /// From the ranks that a binomial distribution gives.
  double standardError() const {
    const double half = 1.5 / std::sqrt(static_cast<double>(sorted.size()));
    return (quantile(std::min(1.0, 0.5 + half)) - quantile(std::max(0.0, 0.5 - half))) / 6;
  }
  int outliers() const {
    const double q1 = quantile(0.25), q3 = quantile(0.75), far = 3 * (q3 - q1) + 0.05 * median();
    return static_cast<int>(std::count_if(sorted.begin(), sorted.end(), [&](double s) { return s > q3 + far || s < q1 - far; }));
  }
};

class BenchmarkRunner {
  machine& m;
  const options& how;
  std::shared_ptr<const strategy::CacheStrategy> caches;
  double begun, bestShare, lost = 0;
  int dropped = 0;

  double elapsed() { return m.steady_seconds() - begun; }

  double findTick() {
    double tick = 1;
    double last = m.steady_seconds();
    int seen = 0;
    double pause = 0;
    for (int i = 0; i < 4000 && seen < 20; ++i) {
      if (i > 2000) m.rest(pause = pause == 0 ? 1e-7 : pause * 1.05);
      const double now = m.steady_seconds();
      if (now > last) tick = std::min(tick, now - last), ++seen;
      last = now;
    }
    return tick;
  }

  bool coolDown() {
    bestShare = std::max(bestShare, m.clock_share());
    if (m.clock_share() >= bestShare) return false;
    while (m.clock_share() < bestShare && elapsed() < how.budget_seconds) m.rest(0.01);
    return true;
  }

  double time(const strategy::Workload& w, int calls) {
    w.prepare(m, calls);
    util::Stopwatch watch(m);
    watch.start();
    for (int i = 0; i < calls; ++i) w.call(m, i);
    return watch.stop() / calls;
  }

 public:
  BenchmarkRunner(machine& m, const options& how)
      : m(m), how(how), caches(strategy::CacheStrategyFactory::create(how)), begun(m.steady_seconds()), bestShare(m.clock_share()) {}

  timing run() {
    const double least = 300 * findTick();
    const strategy::RealWork work(caches);
    const strategy::EmptyWork nothing;

    for (int i = 0; i < 10; ++i) {
      work.prepare(m, 1);
      work.call(m, 0);
      coolDown();
    }

    int calls = 1;
    double each = time(work, calls);
    bool hot = coolDown();
    while (each * calls < least && calls < caches->mostCalls()) {
      calls = std::min(caches->mostCalls(), each > 0 ? std::max(2 * calls, static_cast<int>(1.2 * least / each)) : 16 * calls);
      each = time(work, calls);
      hot = coolDown();
    }

    int empties = 1;
    while (time(nothing, empties) * empties < least && empties < 1 << 12) empties *= 8;
    std::vector<double> overheads;
    for (int i = 0; i < 5; ++i) overheads.push_back(time(nothing, empties));
    const double overhead = Statistics(overheads).median();

    std::vector<double> samples;
    if (!hot)
      samples.push_back(each - overhead);
    else
      ++dropped;
    for (;;) {
      const int n = static_cast<int>(samples.size());
      if (n >= how.least_samples && elapsed() + 1.1 * each * calls > how.budget_seconds) break;
      if (n >= how.least_samples) {
        const Statistics s(samples);
        if (s.standardError() <= how.relative_error * s.median()) break;
      }
      each = time(work, calls);
      if (coolDown())
        ++dropped;
      else
        samples.push_back(each - overhead);
    }

    const Statistics s(samples);
    timing out;
    out.median_seconds = s.median();
    out.low_seconds = s.quantile(0.1);
    out.high_seconds = s.quantile(0.9);
    out.overhead_seconds = overhead;
    out.samples = static_cast<int>(samples.size());
    out.outliers = s.outliers();
    out.dropped = dropped;
    return out;
  }
};

timing benchmark(machine& m, const options& how) { return BenchmarkRunner(m, how).run(); }

}  // namespace lab02
