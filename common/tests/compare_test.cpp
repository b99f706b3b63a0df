// What counts as equal: NaN never, the tolerance itself still, and a message that names the place.
#include "lab/compare.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();
using floats = std::vector<float>;

std::string compared(const floats& got, const floats& want, lab::tolerance allowed = {}, std::size_t row_length = 0) {
  return lab::mismatch(std::span<const float>(got), want, allowed, row_length);
}

TEST(Mismatch, IsEmptyForEqualArrays) {
  EXPECT_EQ(compared({}, {}), "");
  EXPECT_EQ(compared({1, -0.0f, infinite}, {1, 0.0f, infinite}), "");
}

TEST(Mismatch, NanNeverAgrees) {
  EXPECT_NE(compared({nan_value}, {1.0f}, {1e30, 1e30}), "");
  EXPECT_NE(compared({nan_value}, {nan_value}, {1e30, 1e30}), "");
  EXPECT_NE(compared({1.0f}, {nan_value}, {1e30, 1e30}), "");
}

TEST(Mismatch, InfinityAgreesOnlyWithItself) {
  EXPECT_NE(compared({1.0f}, {infinite}, {1.0, 1.0}), "");
  EXPECT_NE(compared({infinite}, {1.0f}, {1.0, 1.0}), "");
  EXPECT_NE(compared({-infinite}, {infinite}, {1.0, 1.0}), "");
}

TEST(Mismatch, ToleranceIsAbsolutePlusRelative) {
  EXPECT_EQ(compared({10.5f}, {10.0f}, {0.5, 0.0}), "");
  EXPECT_EQ(compared({10.5f}, {10.0f}, {0.0, 0.05}), "");
  EXPECT_NE(compared({10.75f}, {10.0f}, {0.5, 0.0}), "");
  EXPECT_EQ(compared({-10.75f}, {-10.0f}, {0.5, 0.025}), "");
}

TEST(Mismatch, SaysHowManyAndWhere) {
  EXPECT_EQ(compared({1, 2, 9}, {1, 2, 3}, {}, 2), "1 of 3 elements are wrong: [1, 0] is 9, should be 3");
  EXPECT_EQ(compared({5, 5, 5, 5, 5}, {1, 2, 3, 4, 5}),
            "4 of 5 elements are wrong: [0] is 5, should be 1; [1] is 5, should be 2; [2] is 5, should be 3; ...");
  EXPECT_EQ(compared({1}, {1, 2}), "1 elements, should be 2");
}

}  // namespace
