// Order statistics of a handful of measurements, without assumptions about their distribution.
#pragma once

#include <vector>

namespace lab {

/// The value below which `fraction` of the values lie, interpolated; throws std::invalid_argument if there are none.
double quantile(std::vector<double> values, double fraction);

/// The middle value; throws std::invalid_argument if there are none.
double median(std::vector<double> values);

/// Interquartile range over median: the relative spread of a measurement.
double relative_spread(const std::vector<double>& values);

struct interval {
  double low = 0;
  double high = 0;
};

/// Ranks, counted from 1, of the two sorted values between which the true median lies with the given confidence,
/// whatever the distribution: ranks 6 and 16 of 21 values; with too few values, the first and the last.
struct rank_pair {
  int low = 1;
  int high = 1;
};
rank_pair median_ranks(int count, double confidence = 0.95);

/// Confidence interval of the median; throws std::invalid_argument if there are no values.
interval median_interval(std::vector<double> values, double confidence = 0.95);

}  // namespace lab
