// What counts as equal: a difference of exactly the tolerance does, NaN never does; and messages that name the element.
#include "lab/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "lab/random.hpp"

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

TEST(LargestError, IsInfiniteWhereNothingCanBeCompared) {
  using doubles = std::vector<double>;
  EXPECT_EQ(lab::largest_error(floats{1, 3, -2}, doubles{1, 2.5, -2}), 0.5);
  EXPECT_EQ(lab::largest_error(floats{nan_value, 1}, doubles{1, 1}), infinite);
  EXPECT_EQ(lab::largest_error(floats{1}, doubles{1, 1}), infinite);
}

TEST(Mismatch, NanNeverAgrees) {
  EXPECT_NE(compared({nan_value}, {1.0f}, {1e30, 1e30}), "");
  EXPECT_NE(compared({nan_value}, {nan_value}, {1e30, 1e30}), "");
  EXPECT_NE(compared({1.0f}, {nan_value}, {1e30, 1e30}), "");
}

TEST(Mismatch, SaysWhereOneFactorExplainsAll) {
  EXPECT_NE(compared({2, 4, 6, 0, 8}, {1, 2, 3, 0, 4}).find("; all of these are 2 times what they should be"),
            std::string::npos);
  EXPECT_NE(compared({0, 0, 0, 0}, {1, 2, 3, 4}).find("; all of these are zero"), std::string::npos);
  EXPECT_EQ(compared({2, 4, 6, 9}, {1, 2, 3, 4}).find("all of these"), std::string::npos);
  EXPECT_EQ(compared({2, 4, 6, nan_value}, {1, 2, 3, 4}).find("all of these"), std::string::npos);
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

// ---- products -----------------------------------------------------------------------------------------------------

struct product {
  std::int64_t m, n, k;
  floats a = lab::random_floats(static_cast<std::size_t>(m * k), 1),
         b = lab::random_floats(static_cast<std::size_t>(k * n), 2), c = multiplied();

  floats multiplied() const {
    floats result(static_cast<std::size_t>(m * n));
    for (std::int64_t r = 0; r < m; ++r)
      for (std::int64_t i = 0; i < k; ++i)
        for (std::int64_t q = 0; q < n; ++q)
          result[static_cast<std::size_t>(r * n + q)] +=
              a[static_cast<std::size_t>(r * k + i)] * b[static_cast<std::size_t>(i * n + q)];
    return result;
  }
  std::string wrong() const {
    return lab::product_mismatch(a, b, c, m, n, k, {4 * static_cast<double>(k) * 0x1p-24, 0});
  }
};

TEST(ProductMismatch, TakesWhatIsRightToRounding) {
  EXPECT_EQ((product{3, 5, 7}.wrong()), "");
  const product large{400, 420, 440};  // too large to be recomputed
  for (int i = 0; i < 20; ++i) EXPECT_EQ(large.wrong(), "");
}

TEST(ProductMismatch, NamesAnElementOfASmallProduct) {
  product p{3, 5, 7};
  p.c[8] += 0.5f;
  EXPECT_NE(p.wrong().find("1 of 15 elements are wrong: [1, 3] is"), std::string::npos) << p.wrong();
}

TEST(ProductMismatch, SeesOneWrongElementOfALargeProduct) {
  product p{400, 420, 440};
  p.c[400 * 420 - 1] += 0.1f;
  for (int i = 0; i < 20; ++i) EXPECT_NE(p.wrong(), "");
  p.c[400 * 420 - 1] = nan_value;
  EXPECT_NE(p.wrong(), "");
  p.c[400 * 420 - 1] = infinite;
  EXPECT_NE(p.wrong(), "");
}

TEST(ProductMismatch, CannotBeForgedForOneVector) {
  // A submission that knew x, from any fixed source of signs, could put A (B x) into one column.
  product p{400, 420, 440};
  const floats x = lab::random_floats(420, 20260 + 400);
  for (std::size_t r = 0; r < 400; ++r) {
    double sum = 0;
    for (std::size_t q = 0; q < 420; ++q) sum += (x[q] < 0 ? -1.0 : 1.0) * static_cast<double>(p.c[r * 420 + q]);
    std::fill_n(p.c.begin() + static_cast<std::ptrdiff_t>(r * 420), 420, 0.0f);
    p.c[r * 420] = static_cast<float>(x[0] < 0 ? -sum : sum);
  }
  EXPECT_NE(p.wrong(), "");
}

TEST(ProductMismatch, SeesFewerDigitsInAFewRows) {
  product p{400, 420, 440};
  for (std::size_t i = 0; i < 420; ++i) p.c[i] += 0x1p-9f * (i % 2 == 0 ? 1.0f : -1.0f);  // tf32's error, in one row
  int seen = 0;
  for (int i = 0; i < 20; ++i) seen += !p.wrong().empty();
  EXPECT_GE(seen, 1) << "each check recomputes 8 of 400 rows";
  for (std::size_t i = 0; i < p.c.size(); ++i) p.c[i] += 0x1p-9f * (i % 2 == 0 ? 1.0f : -1.0f);
  for (int i = 0; i < 20; ++i) EXPECT_NE(p.wrong(), "");
}

}  // namespace
