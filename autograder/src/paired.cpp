// Paired timing and the decision whether to believe it.
#include "paired.hpp"

#include "credit.hpp"

namespace grading {
namespace {

paired_result summary(std::vector<timed_pair> pairs, double noise) {
  std::vector<double> ratios;
  for (const timed_pair& p : pairs) ratios.push_back(p.ceiling_seconds / p.call_seconds);
  return {std::move(pairs), lab::median(ratios), lab::median_interval(ratios), noise, noise > most_noise};
}

double noise_of(const paired_run& run) { return run.self_ratios.empty() ? 0.0 : lab::relative_spread(run.self_ratios); }

}  // namespace

std::optional<paired_run> run_pairs(const std::function<std::optional<double>()>& call,
                                    const std::function<double()>& ceiling, const paired_options& options) {
  paired_run run;
  double spent = 0, last_ceiling = 0;
  for (int i = 0; i < options.pairs && (i < options.least_pairs || spent < options.budget_seconds); ++i) {
    const bool ceiling_first = i % 2 == 0;
    timed_pair pair;
    if (ceiling_first) pair.ceiling_seconds = ceiling();
    const std::optional<double> seconds = call();
    if (!seconds) return {};
    pair.call_seconds = *seconds;
    if (!ceiling_first) pair.ceiling_seconds = ceiling();
    if (ceiling_first && i > 0) run.self_ratios.push_back(last_ceiling / pair.ceiling_seconds);
    last_ceiling = pair.ceiling_seconds;
    spent += pair.call_seconds + pair.ceiling_seconds;
    run.pairs.push_back(pair);
  }
  return run;
}

std::optional<paired_result> measure(const std::function<std::optional<paired_run>()>& run, double full) {
  constexpr int most_grey_runs = 2;
  std::optional<paired_run> first = run();
  if (first && noise_of(*first) > most_noise) first = run();
  if (!first) return {};
  paired_result result = summary(std::move(first->pairs), noise_of(*first));
  const double bar = rung_allowance * full;
  for (int i = 0; i < most_grey_runs && !result.noisy && result.ratio < bar && result.ci95.high >= bar; ++i) {
    const std::optional<paired_run> more = run();
    if (!more) return {};
    if (noise_of(*more) > most_noise) continue;
    result.pairs.insert(result.pairs.end(), more->pairs.begin(), more->pairs.end());
    result = summary(std::move(result.pairs), result.noise);
  }
  return result;
}

}  // namespace grading
