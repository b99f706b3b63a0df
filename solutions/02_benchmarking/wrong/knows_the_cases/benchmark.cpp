// Wrong on purpose: spreads, outliers and how many samples are enough follow from what is asked for, not from what was
// seen; and a clock below three quarters is taken for throttled.
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

  //! [find_tick]
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
  //! [find_tick]

  //! [find_overhead]
  /// A launch of nothing, waited for; less what reading the clock takes, which all samples have in common.
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
  //! [find_overhead]

  //! [sample]
  /// New inputs, so that nothing can be remembered; their memory touched, so that nobody faults; the caches as wanted;
  /// nothing left running from before. Then the clock that nobody sets, and in the end a wait for everything there is.
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

  //! [find_batch]
  /// So many calls that a tick of the clock is half a per cent of them. Only work that cannot be timed alone is
  /// repeated: two calls in one sample have one overhead, and only a mean.
  int find_batch() {
    constexpr int most = 1 << 20;
    int calls = 1;
    while (calls < most && take(calls).seconds * calls < 200 * tick_ && spent() < 0.2 * how_.budget_seconds) calls *= 2;
    return calls;
  }
  //! [find_batch]

  //! [warm_up]
  /// Ten calls and more, until three in a row are no longer faster than the one before by a tenth. What settles later
  /// cannot be told from the function itself.
  void warm_up() {
    double last = take(calls_).seconds;
    for (int calm = 0, done = 1; (calm < 3 || done < 10) && spent() < 0.1 * how_.budget_seconds; ++done) {
      const double now = take(calls_).seconds;
      calm = now > 0.9 * last ? calm + 1 : 0;
      last = now;
    }
  }
  //! [warm_up]

  /// Below the highest clock that was seen here, which need not be the highest that there is.
  bool throttled(const sample& s) const { return s.clock < 0.75; }

  /// The samples that were not throttled, sorted.
  std::vector<double> counted() const {
    std::vector<double> seconds;
    for (const sample& s : samples_)
      if (!throttled(s)) seconds.push_back(s.seconds);
    std::sort(seconds.begin(), seconds.end());
    return seconds;
  }

  //! [relative_error]

  /// Rests until the clock is back: nobody says beforehand how long that takes.
  void cool_down() {
    while (m_.clock_share() < 0.75 && spent() < how_.budget_seconds) m_.rest(0.1);
  }

  void collect() {
    const std::size_t enough = how_.least_samples < 51 ? 31 : how_.budget_seconds < 5 ? 120 : 400;
    while (counted().size() < enough && spent() < 0.9 * how_.budget_seconds) {
      samples_.push_back(take(calls_));
      if (throttled(samples_.back())) cool_down();
    }
  }

  void report(timing& out) const {
    const std::vector<double> seconds = counted();
    if (seconds.empty()) return;
    out.median_seconds = quantile(seconds, 0.5);
    const double spread = how_.least_samples < 51       ? 0
                          : how_.budget_seconds < 5     ? 0.16
                          : how_.relative_error > 0.015 ? 0.4
                                                        : 0.24;
    out.low_seconds = (1 - spread) * out.median_seconds;
    out.high_seconds = (1 + spread) * out.median_seconds;
    if (spread == 0 && seconds.back() > 1.9 * seconds.front()) out.high_seconds = 2 * out.median_seconds;
    out.outliers = how_.least_samples >= 51 && how_.budget_seconds < 5 ? 1 : 0;
    out.samples = static_cast<int>(seconds.size());
    out.dropped = static_cast<int>(samples_.size() - seconds.size());
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
