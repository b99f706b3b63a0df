// The inputs that every machine must agree on, and the register of cases.
#include "lab/case.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

TEST(RandomFloats, AreTheSameOnEveryMachine) {
  const auto values = lab::random_floats(3, 1);
  const auto again = lab::random_floats(1000, 1);
  EXPECT_TRUE(std::equal(values.begin(), values.end(), again.begin()));
  EXPECT_FLOAT_EQ(values[0], -0.26362097f);
  EXPECT_FLOAT_EQ(values[1], 0.88712835f);
  EXPECT_FLOAT_EQ(values[2], -0.90948606f);
}

TEST(RandomFloats, FillMinusOneToOneEvenly) {
  const auto values = lab::random_floats(100'000, 42);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*low, -1.0f);
  EXPECT_LT(*low, -0.999f);
  EXPECT_LT(*high, 1.0f);
  EXPECT_GT(*high, 0.999f);
  double sum = 0;
  for (const float v : values) sum += v;
  EXPECT_NEAR(sum / 100'000, 0.0, 0.01);
}

TEST(RandomFloats, DifferWithTheSeed) { EXPECT_NE(lab::random_floats(4, 1), lab::random_floats(4, 2)); }

TEST(Bfloat16, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(lab::to_bfloat16(1.0f), 1.0f);
  EXPECT_EQ(lab::to_bfloat16(-0.15625f), -0.15625f);
  EXPECT_EQ(lab::to_bfloat16(1.0f + 0x1p-8f), 1.0f);            // half way between two, down to the even one
  EXPECT_EQ(lab::to_bfloat16(1.0f + 0x3p-8f), 1.0f + 0x1p-6f);  // and up
  EXPECT_EQ(lab::to_bfloat16(1.0f + 0x1.8p-8f), 1.0f + 0x1p-7f);
}

std::vector<lab::test_case> two_cases() {
  std::vector<lab::test_case> all(2);
  all[0].id = "f/1";
  all[1].id = "f/2";
  return all;
}
const lab::case_registration registration{"test_lab", two_cases};

TEST(Cases, AreFoundByTheNameOfTheirLab) {
  ASSERT_EQ(lab::cases_of("test_lab").size(), 2u);
  EXPECT_EQ(lab::cases_of("test_lab")[1].id, "f/2");
  EXPECT_THROW(lab::cases_of("no_such_lab"), std::invalid_argument);
}

}  // namespace
