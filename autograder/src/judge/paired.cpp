// Paired timing, and the decision whether to believe it.
#include "judge/paired.hpp"

#include <algorithm>

namespace grading {
namespace {

std::vector<double> ratios_of(const std::vector<timed_pair>& pairs) {
  std::vector<double> ratios;
  ratios.reserve(pairs.size());
  for (const timed_pair& p : pairs) ratios.push_back(p.ceiling_seconds / p.call_seconds);
  return ratios;
}

paired_result summary(std::vector<timed_pair> pairs, double noise, const std::vector<rung>& rungs) {
  const std::vector<double> ratios = ratios_of(pairs);
  paired_result result{std::move(pairs), lab::median(ratios), lab::median_interval(ratios), noise, {}};
  result.share = share_of(result.ratio, result.ci95, noise, rungs);
  return result;
}

double noise_of(const paired_run& run) { return run.self_ratios.empty() ? 0.0 : lab::relative_spread(run.self_ratios); }

}  // namespace

lab::interval share_of(double ratio, const lab::interval& ci95, double noise, const std::vector<rung>& rungs) {
  if (noise <= most_noise) return {credit(ratio, rungs), credit(ratio, rungs)};
  return {noise > hopeless_noise ? 0.0 : credit(ci95.low, rungs), credit(ci95.high, rungs)};
}

std::optional<paired_run> run_pairs(const std::function<std::optional<sample>()>& call,
                                    const std::function<sample()>& ceiling, const paired_options& options) {
  paired_run run;
  constexpr int enough_to_decide = 6, enough_far_below = 3;  // the interval of 6 pairs spans all of them
  constexpr double far_share = 0.125;
  double spent = 0, last_ceiling = 0, best_ratio = 0;
  for (int i = 0; i < options.pairs && (i < options.least_pairs || spent < options.budget_seconds);) {
    const bool ceiling_first = i % 2 == 0;
    sample beside = 0.0;
    if (ceiling_first) beside = ceiling();
    const std::optional<sample> own = call();
    if (!own) return {};
    if (!ceiling_first) beside = ceiling();
    spent += own->seconds + beside.seconds;
    // Other work on the machine cannot make a call look this slow; the call's own spinning threads can.
    const bool far_below = beside.seconds < far_share * options.hopeless_ratio * own->seconds;
    if ((own->disturbed || beside.disturbed) && !far_below && run.disturbed < options.most_disturbed) {
      ++run.disturbed;
      continue;
    }
    const timed_pair pair{own->seconds, beside.seconds};
    if (ceiling_first && i > 0) run.self_ratios.push_back(last_ceiling / pair.ceiling_seconds);
    last_ceiling = pair.ceiling_seconds;
    run.pairs.push_back(pair);
    best_ratio = std::max(best_ratio, pair.ceiling_seconds / pair.call_seconds);
    ++i;
    if (i >= enough_to_decide && best_ratio < options.hopeless_ratio) break;
    if (i >= enough_far_below && best_ratio < far_share * options.hopeless_ratio) break;
    if (i < enough_to_decide) continue;
    const lab::interval likely = lab::median_interval(ratios_of(run.pairs));
    if (likely.low >= options.certain_ratio) break;
    if (i >= options.least_pairs && likely.high < (1 + options.narrow) * likely.low) break;
  }
  return run;
}

std::optional<paired_result> measure(const std::function<std::optional<paired_run>()>& run,
                                     const std::vector<rung>& rungs) {
  constexpr int most_grey_runs = 2;
  std::optional<paired_result> result;
  for (int attempt = 0; attempt < 2 && (!result || !result->decided()); ++attempt) {
    std::optional<paired_run> got = run();
    if (!got) return {};
    const double noise = noise_of(*got);
    result = summary(std::move(got->pairs), noise, rungs);
  }
  const double bar = rung_allowance * rungs.back().ratio;
  for (int i = 0; i < most_grey_runs && result->decided() && result->ratio < bar && result->ci95.high >= bar; ++i) {
    const std::optional<paired_run> more = run();
    if (!more) return {};
    if (noise_of(*more) > most_noise) continue;
    std::vector<timed_pair> pooled = result->pairs;
    pooled.insert(pooled.end(), more->pairs.begin(), more->pairs.end());
    result = summary(std::move(pooled), result->noise, rungs);
  }
  return result;
}

}  // namespace grading
