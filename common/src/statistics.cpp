// Order statistics: quantiles by interpolation, the median's confidence interval by counting coin flips.
#include "lab/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace lab {

double quantile(std::vector<double> values, double fraction) {
  if (values.empty()) throw std::invalid_argument("lab::quantile needs at least one value");
  std::sort(values.begin(), values.end());
  const double position = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double relative_spread(const std::vector<double>& values) {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / median(values);
}

rank_pair median_ranks(int count, double confidence) {
  // Each value lies below the true median with probability 1/2. The median escapes below rank k when fewer than k
  // values lie below it: the binomial tail of k - 1. Take the largest k whose two tails stay within 1 - confidence.
  const double allowed = 1.0 - confidence;
  double probability = std::pow(0.5, count);  // probability that exactly k - 1 of `count` lie below
  double tail = 0.0;
  rank_pair result{1, std::max(count, 1)};
  for (int k = 1; 2 * k <= count; ++k) {
    tail += probability;
    if (2.0 * tail > allowed) break;
    result = {k, count + 1 - k};
    probability *= static_cast<double>(count - k + 1) / k;
  }
  return result;
}

interval median_interval(std::vector<double> values, double confidence) {
  if (values.empty()) throw std::invalid_argument("lab::median_interval needs at least one value");
  std::sort(values.begin(), values.end());
  const rank_pair ranks = median_ranks(static_cast<int>(values.size()), confidence);
  return {values[static_cast<std::size_t>(ranks.low - 1)], values[static_cast<std::size_t>(ranks.high - 1)]};
}

}  // namespace lab
