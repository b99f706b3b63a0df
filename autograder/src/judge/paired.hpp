// Paired timing: a call and its ceiling side by side, so that whatever slows the machine slows both. Decides when a
// measurement is good enough, when to repeat it, and when it is inconclusive.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "course/credit.hpp"
#include "result/result.hpp"

namespace grading {

/// Seconds, and whether the machine took the core away during the call; such a sample is void.
struct sample {
  double seconds = 0;
  bool disturbed = false;
  sample(double s, bool d = false) : seconds(s), disturbed(d) {}  // a plain number is undisturbed
};

/// The pairs of one run, and the ratios of the ceiling's successive times, which give the noise floor.
struct paired_run {
  std::vector<timed_pair> pairs;
  std::vector<double> self_ratios;
  int disturbed = 0;  ///< pairs that were discarded
};

struct paired_options {
  int pairs = 21;
  int least_pairs = 11;        ///< measured even if the time budget runs out
  int most_disturbed = 21;     ///< after discarding this many pairs, a run keeps even disturbed ones
  double budget_seconds = 10;  ///< for one run
  double hopeless_ratio = 0;   ///< a run ends after 6 pairs with ratios below this, or after 3 below an eighth of it
  double certain_ratio = 1e9;  ///< a run ends after 6 pairs where even the interval's low end reaches this
  double narrow = 0;           ///< ... or if the interval's width is at most this fraction of its low end
};

/// Times both in the order ceiling, call, call, ceiling, ... If `call` returns no value, the run ends without a result.
/// Repeats a pair if either sample was disturbed.
std::optional<paired_run> run_pairs(const std::function<std::optional<sample>()>& call,
                                    const std::function<sample()>& ceiling, const paired_options& options = {});

struct paired_result {
  std::vector<timed_pair> pairs;
  double ratio = 0;     ///< median of (ceiling time / call time) over all pairs
  lab::interval ci95;   ///< confidence interval of that median
  double noise = 0;     ///< interquartile range of the self ratios, divided by their median
  lab::interval share;  ///< of the points: the least and the most possible; equal if decided
  bool decided() const { return share.low == share.high; }
};

/// Up to this noise the median decides; above it, the interval.
constexpr double most_noise = 0.10;

/// Above this noise the interval is meaningless, too: such a run can fail a call, but never pass it.
constexpr double hopeless_noise = 0.50;

/// The share of the points for a ratio with its interval, at this noise.
lab::interval share_of(double ratio, const lab::interval& ci95, double noise, const std::vector<rung>& rungs);

/// Runs once; again if that did not decide; and up to twice more, pooled, if full credit is narrowly missed but within
/// the confidence interval. No value if a run had none.
std::optional<paired_result> measure(const std::function<std::optional<paired_run>()>& run,
                                     const std::vector<rung>& rungs);

}  // namespace grading
