// Order statistics, checked against hand-computed values and simulated measurements.
#include "lab/statistics.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

namespace {

TEST(Statistics, Quantiles) {
  EXPECT_DOUBLE_EQ(lab::median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(lab::median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(lab::quantile({0, 10}, 0.25), 2.5);
  EXPECT_DOUBLE_EQ(lab::quantile({5}, 0.9), 5);
  EXPECT_DOUBLE_EQ(lab::relative_spread({1, 2, 3, 4, 5}), 2.0 / 3.0);
  EXPECT_THROW(lab::median({}), std::invalid_argument);
}

TEST(Statistics, RanksOfTheMedian) {
  EXPECT_EQ(lab::median_ranks(21).low, 6);
  EXPECT_EQ(lab::median_ranks(21).high, 16);
  EXPECT_EQ(lab::median_ranks(11).low, 2);
  EXPECT_EQ(lab::median_ranks(11).high, 10);
  EXPECT_EQ(lab::median_ranks(6).low, 1);
  EXPECT_EQ(lab::median_ranks(2).low, 1);  // too few for 95 %: the whole range
  EXPECT_EQ(lab::median_ranks(2).high, 2);
}

TEST(Statistics, IntervalCoversTheMedian) {
  std::mt19937 engine(7);
  std::exponential_distribution<double> skewed(1.0);  // its median is ln 2
  int covered = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> values(21);
    for (double& v : values) v = skewed(engine);
    const lab::interval ci = lab::median_interval(values);
    covered += ci.low <= 0.6931 && 0.6931 <= ci.high;
  }
  EXPECT_GE(covered, 1900);
}

}  // namespace
