// Converts a measured ratio to a share of the points, so that noise never costs points.
#pragma once

#include <optional>
#include <vector>

namespace grading {

/// A submission that reaches `ratio` of the ceiling gets `share` of the points.
struct rung {
  double ratio = 0;
  double share = 0;
};

/// A rung counts as reached at this fraction of its ratio.
constexpr double rung_allowance = 0.97;

/// The share of the points, in whole tenths so that a percent of noise seldom changes it: 0 below the first rung, all
/// at the last, and between rungs linear in the ratio's logarithm. NaN earns nothing.
double credit(double ratio, const std::vector<rung>& rungs);

/// The next ratio that earns more, and its share; none at full credit.
std::optional<rung> next_step(double ratio, const std::vector<rung>& rungs);

}  // namespace grading
