// Timing functions that may deceive. Each sample is taken with full care. Only measurements decide how many calls a
// sample holds, how many samples are taken, and which of them count. See WORKLOG.md.
#include "benchmark.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lab02 {
namespace {

struct sample {
  double seconds = 0;  ///< of one call
  double clock = 1;    ///< share, the lower of before and after
};

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

class bencher {
 public:
  bencher(machine& m, const options& how) : m_(m), how_(how), began_(m.steady_seconds()) {}

  timing run() {
    tick_ = find_tick();
    timing out;
    out.overhead_seconds = overhead_ = find_overhead();
    calls_ = how_.cold ? 1 : find_batch();
    warm_up();
    collect();
    report(out);
    return out;
  }

 private:
  double spent() { return m_.steady_seconds() - began_; }

  /// The smallest step that the clock was seen to make.
  double find_tick() {
    double tick = 1;
    for (int i = 0; i < 3; ++i) {
      const double start = m_.steady_seconds();
      double now = start;
      while (now <= start) now = m_.steady_seconds();
      tick = std::min(tick, now - start);
    }
    return tick;
  }

  /// The time of an empty launch and the wait for it, less the time to read the clock, which all samples share.
  double find_overhead() {
    double best = 1;
    for (int i = 0; i < 11; ++i) {
      const double start = m_.steady_seconds();
      m_.run_nothing();
      m_.wait_for_device();
      const double middle = m_.steady_seconds();
      const double end = m_.steady_seconds();
      best = std::min(best, (middle - start) - (end - middle));
    }
    return std::max(best, 0.0);
  }

  /// New inputs, so that nothing can be remembered; their memory touched, so that no page faults are timed; the caches
  /// as requested; nothing still running. Then the steady clock and, at the end, a wait for the whole device.
  //! [sample]
  sample take(int calls) {
    m_.prepare(calls);
    m_.touch();
    if (how_.cold) m_.flush_caches();
    m_.wait_for_device();
    const double clock = m_.clock_share();
    const double start = m_.steady_seconds();
    for (int i = 0; i < calls; ++i) m_.keep(m_.run(i));
    m_.wait_for_device();
    const double end = m_.steady_seconds();
    const double clock_after = m_.clock_share();
    best_clock_ = std::max({best_clock_, clock, clock_after});
    return {std::max(end - start - overhead_, 0.0) / calls, std::min(clock, clock_after)};
  }
  //! [sample]

  /// Enough calls that a tick of the clock is half a per cent of them. Only work that is too short to be timed alone is
  /// repeated: two calls in one sample share one overhead and give only a mean.
  //! [find_batch]
  int find_batch() {
    constexpr int most = 1 << 20;
    int calls = 1;
    while (calls < most && take(calls).seconds * calls < 200 * tick_ && spent() < 0.2 * how_.budget_seconds) calls *= 2;
    return calls;
  }
  //! [find_batch]

  //! [warm_up]
  /// At least ten calls, until three in a row are no longer faster than the previous one by a tenth. A function that
  /// settles later cannot be distinguished from one that is slow.
  void warm_up() {
    double last = take(calls_).seconds;
    for (int calm = 0, done = 1; (calm < 3 || done < 10) && spent() < 0.1 * how_.budget_seconds; ++done) {
      const double now = take(calls_).seconds;
      calm = now > 0.9 * last ? calm + 1 : 0;
      last = now;
    }
  }
  //! [warm_up]

  /// Below the highest clock that was seen here, which need not be the highest possible.
  bool throttled(const sample& s) const { return s.clock < 0.98 * best_clock_; }

  /// The samples that were not throttled, sorted.
  std::vector<double> counted() const {
    std::vector<double> seconds;
    for (const sample& s : samples_)
      if (!throttled(s)) seconds.push_back(s.seconds);
    std::sort(seconds.begin(), seconds.end());
    return seconds;
  }

  /// Standard error of the median, from the middle half of the samples: 1.25 sigma / sqrt(n), where sigma is the
  /// interquartile range over 1.35 if the middle is normal.
  static double relative_error(const std::vector<double>& sorted) {
    const double middle = quantile(sorted, 0.5), spread = quantile(sorted, 0.75) - quantile(sorted, 0.25);
    return 1.25 * spread / 1.35 / std::sqrt(static_cast<double>(sorted.size())) / std::max(middle, 1e-300);
  }

  /// Rests until the clock has recovered; how long that takes is not known beforehand.
  void cool_down() {
    for (int rests = 0; m_.clock_share() < 0.98 * best_clock_ && rests < 100; ++rests) m_.rest(0.1);
  }

  void collect() {
    const auto least = static_cast<std::size_t>(std::max(how_.least_samples, 1));
    std::size_t look = least;  // sorting after each sample would cost more than the samples
    bool enough = false;       // the budget ends the series only after `least` samples that count
    for (double longest = 0, before = spent(); !enough || before + longest < how_.budget_seconds;) {
      samples_.push_back(take(calls_));
      if (throttled(samples_.back())) cool_down();
      const double now = spent();
      longest = std::max(longest, now - before);
      before = now;
      if (samples_.size() < look) continue;
      const std::vector<double> seconds = counted();
      enough = seconds.size() >= least;
      if (enough && relative_error(seconds) <= how_.relative_error) return;
      if (!enough && samples_.size() > 100 * least) return;  // the clock rate does not recover
      look = enough ? look + look / 4 : look + 1;
    }
  }

  void report(timing& out) const {
    const std::vector<double> seconds = counted();
    out.median_seconds = quantile(seconds, 0.5);
    out.low_seconds = quantile(seconds, 0.1);
    out.high_seconds = quantile(seconds, 0.9);
    out.samples = static_cast<int>(seconds.size());
    out.dropped = static_cast<int>(samples_.size() - seconds.size());
    // Far outside: three interquartile ranges beyond the quartiles, and not merely a rounding of the clock.
    const double low = quantile(seconds, 0.25), high = quantile(seconds, 0.75);
    const double reach = 3 * std::max(high - low, 0.01 * out.median_seconds);
    out.outliers = static_cast<int>(
        std::count_if(seconds.begin(), seconds.end(), [&](double s) { return s < low - reach || s > high + reach; }));
  }

  machine& m_;
  const options& how_;
  double began_, tick_ = 0, overhead_ = 0, best_clock_ = 0;
  int calls_ = 1;
  std::vector<sample> samples_;
};

}  // namespace

timing benchmark(machine& m, const options& how) { return bencher(m, how).run(); }

}  // namespace lab02
