// Paired timing: a call and its ceiling side by side, so that whatever slows the machine slows both; when a
// measurement is good enough, when it is repeated, and when it cannot be decided.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "course/credit.hpp"
#include "result/result.hpp"

namespace grading {

/// Seconds, and whether the machine took the core away during the call: then they are void.
struct sample {
  double seconds = 0;
  bool disturbed = false;
  sample(double s, bool d = false) : seconds(s), disturbed(d) {}  // a plain number is an undisturbed one
};

/// Pairs of one run, and ratios of the ceiling's neighbouring times with each other: the noise floor.
struct paired_run {
  std::vector<timed_pair> pairs;
  std::vector<double> self_ratios;
  int disturbed = 0;  ///< pairs that were discarded
};

struct paired_options {
  int pairs = 21;
  int least_pairs = 11;        ///< even if the time budget ends
  int most_disturbed = 21;     ///< after discarding this many pairs, a run keeps even disturbed ones
  double budget_seconds = 10;  ///< for one run
  double hopeless_ratio = 0;   ///< a run ends after 6 pairs whose ratios are all below this, after 3 below an eighth
  double certain_ratio = 1e9;  ///< a run ends after 6 pairs where even the interval's low end reaches this
  double narrow = 0;           ///< ... or if the interval's width is at most this fraction of its low end
};

/// Times both in the order ceiling, call, call, ceiling, ... No value from `call` ends the run without result. A pair
/// of which either was disturbed is measured again.
std::optional<paired_run> run_pairs(const std::function<std::optional<sample>()>& call,
                                    const std::function<sample()>& ceiling, const paired_options& options = {});

struct paired_result {
  std::vector<timed_pair> pairs;
  double ratio = 0;     ///< median over the pairs of ceiling time over call time
  lab::interval ci95;   ///< of that median
  double noise = 0;     ///< interquartile range over median of the self ratios
  lab::interval share;  ///< of the points, the least and the most that it can be; the same if that is decided
  bool decided() const { return share.low == share.high; }
};

/// Up to here the median decides, above it the interval.
constexpr double most_noise = 0.10;

/// Above it the interval does not mean anything either: such a run can fail a call, and never pass it.
constexpr double hopeless_noise = 0.50;

/// The share of the points for a ratio with its interval, at such noise.
lab::interval share_of(double ratio, const lab::interval& ci95, double noise, const std::vector<rung>& rungs);

/// Runs once; again if that did not decide; and up to twice more, pooling, if full credit is just missed but
/// within the confidence interval. No value if a run had none.
std::optional<paired_result> measure(const std::function<std::optional<paired_run>()>& run,
                                     const std::vector<rung>& rungs);

}  // namespace grading
