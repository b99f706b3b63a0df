// The reading kernel reads everything, whatever the size.
#include "ceilings.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

TEST(ReadAll, SumsEveryWordOnce) {
  for (const std::size_t words : {0, 8, 16, 24, 32, 40, 8 * 37, 8 * 1000}) {
    std::vector<std::uint64_t> storage(words + 4);
    const auto start = reinterpret_cast<std::uintptr_t>(storage.data()) / 8 % 4;
    std::uint64_t* first = storage.data() + (start ? 4 - start : 0);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < words; ++i) sum += first[i] = i * i + 1;
    EXPECT_EQ(grading::read_all(std::as_bytes(std::span(first, words))), sum) << words;
  }
}

TEST(RawSeconds, GoOn) {
  const double before = grading::raw_seconds();
  EXPECT_GE(grading::raw_seconds(), before);
}

}  // namespace
