// The inputs on which all machines must agree, and the registry of cases.
#include "lab/case.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include "lab/exchange.hpp"

namespace {

TEST(ExchangeFolder, IsNotSharedWithChildren) {
  const std::filesystem::path mine = lab::exchange_folder();
  EXPECT_TRUE(std::filesystem::is_directory(mine));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string name = lab::exchange_folder().string();
    const bool told = write(ends[1], name.data(), name.size()) == static_cast<ssize_t>(name.size());
    lab::remove_exchange_folder();
    _exit(told ? 0 : 1);
  }
  char text[512] = {};
  ASSERT_GT(read(ends[0], text, sizeof text - 1), 0);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(mine, std::filesystem::path(text));
  EXPECT_FALSE(std::filesystem::exists(text));
  EXPECT_TRUE(std::filesystem::is_directory(mine));
  lab::remove_exchange_folder();
  EXPECT_FALSE(std::filesystem::exists(mine));
  EXPECT_TRUE(lab::exchange_folder_if_any().empty());
}

TEST(ExchangeFolder, OfAKilledProcessIsRemovedByTheNext) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string name = lab::exchange_folder().string();
    _exit(write(ends[1], name.data(), name.size()) > 0 ? 0 : 1);
  }
  char text[512] = {};
  ASSERT_GT(read(ends[0], text, sizeof text - 1), 0);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(text));
  lab::exchange_folder();
  EXPECT_FALSE(std::filesystem::exists(text));
  lab::remove_exchange_folder();
}

TEST(RandomFloats, AreTheSameOnEveryMachine) {
  const auto values = lab::random_floats(3, 1);
  const auto again = lab::random_floats(1000, 1);
  EXPECT_TRUE(std::equal(values.begin(), values.end(), again.begin()));
  EXPECT_FLOAT_EQ(values[0], -0.13120604f);
  EXPECT_FLOAT_EQ(values[1], 0.22041893f);
  EXPECT_FLOAT_EQ(values[2], 0.41095686f);
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

TEST(RandomFloats, ArePartsOfOneStream) {
  const auto many = lab::random_floats(100'000, 7);  // several chunks, on all cores
  const auto first = lab::random_floats(40'000, 7);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), many.begin()));
  EXPECT_NE(many[16384], many[0]);
}

TEST(RandomBytes, AreAllValuesAndPartsOfOneStream) {
  const auto many = lab::random_bytes(200'001, 7), first = lab::random_bytes(131'073, 7);  // several chunks
  EXPECT_TRUE(std::equal(first.begin(), first.end(), many.begin()));
  EXPECT_FALSE(std::equal(many.begin(), many.begin() + 1000, many.begin() + 65'536));
  EXPECT_NE(many, lab::random_bytes(200'001, 8));
  std::array<int, 256> times{};
  for (const std::uint8_t byte : many) ++times[byte];
  const auto [rarest, most] = std::minmax_element(times.begin(), times.end());
  EXPECT_GT(*rarest, 600);  // 781 on average
  EXPECT_LT(*most, 1000);
}

TEST(LongTailedFloats, AreFarOnceInNinetySevenAtNoFixedIndex) {
  constexpr std::size_t count = 100'000;
  const auto far_ones = [](std::uint64_t seed) {
    std::set<std::size_t> indices;
    const auto values = lab::long_tailed_floats(count, 8, 120, seed);
    for (std::size_t i = 0; i < count; ++i)
      if (std::abs(values[i]) >= 8) indices.insert(i);
    return indices;
  };
  const auto some = far_ones(1), others = far_ones(2);
  const double expected = 112.0 / 120 / 97 * count;
  EXPECT_NEAR(static_cast<double>(some.size()), expected, 0.2 * expected);
  std::size_t common = 0;
  for (const std::size_t i : some) common += others.count(i);
  EXPECT_LT(common, some.size() / 10);
}

TEST(RandomSizes, FillTheirRangeAndRepeat) {
  lab::random_sizes one(5), again(5), other(6);
  std::set<std::int64_t> seen;
  bool differ = false;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t drawn = one(-2, 4);
    EXPECT_EQ(drawn, again(-2, 4));
    differ |= drawn != other(-2, 4);
    seen.insert(drawn);
  }
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2, 3, 4}));
  EXPECT_TRUE(differ);
}

TEST(Seeds, DependOnAllThatTheyAreDerivedFrom) {
  const std::set<std::uint64_t> all{lab::derived_seed(1, "f/1", 0), lab::derived_seed(2, "f/1", 0),
                                    lab::derived_seed(1, "f/2", 0), lab::derived_seed(1, "f/1", 1)};
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(lab::derived_seed(1, "f/1", 0), lab::derived_seed(1, "f/1", 0));
  EXPECT_NE(lab::secret_seed(), lab::secret_seed());
}

TEST(Bfloat16, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(lab::to_bfloat16(1.0f), 1.0f);
  EXPECT_EQ(lab::to_bfloat16(-0.15625f), -0.15625f);
  EXPECT_EQ(lab::to_bfloat16(1.0f + 0x1p-8f), 1.0f);            // halfway between two: rounds to even, here down
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
