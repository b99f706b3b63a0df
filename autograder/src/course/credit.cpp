// The credit curve.
#include "course/credit.hpp"

#include <algorithm>
#include <cmath>

namespace grading {

namespace {

constexpr int steps = 10;

/// The share of the points on the curve through the rungs, log-linear between them.
double curve(double ratio, const std::vector<rung>& rungs) {
  if (rungs.empty() || !(ratio >= rungs.front().ratio)) return 0.0;
  for (std::size_t i = 1; i < rungs.size(); ++i) {
    const rung &below = rungs[i - 1], &above = rungs[i];
    if (ratio >= above.ratio) continue;
    const double way = std::log(ratio / below.ratio) / std::log(above.ratio / below.ratio);
    return below.share + way * (above.share - below.share);
  }
  return rungs.back().share;
}

/// The ratio at which the curve reaches this share, at least the first rung's.
double ratio_at(double share, const std::vector<rung>& rungs) {
  std::size_t i = 1;
  while (i + 1 < rungs.size() && rungs[i].share < share) ++i;
  const rung &below = rungs[i - 1], &above = rungs[i];
  const double way = std::max((share - below.share) / (above.share - below.share), 0.0);
  return below.ratio * std::pow(above.ratio / below.ratio, way);
}

}  // namespace

double credit(double ratio, const std::vector<rung>& rungs) {
  return std::floor(steps * curve(ratio / rung_allowance, rungs) + 1e-9) / steps;
}

std::optional<rung> next_step(double ratio, const std::vector<rung>& rungs) {
  const double reached = credit(ratio, rungs);
  if (rungs.empty() || reached >= rungs.back().share) return {};
  // Below the first rung, the next share is the first rung's, which may be more than one step away.
  const double share = std::max(reached + 1.0 / steps, std::floor(steps * rungs.front().share) / steps);
  return rung{ratio_at(share, rungs), share};
}

}  // namespace grading
