// The reading kernel reads every byte, whatever the size.
#include "lab/ceilings.hpp"

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
    EXPECT_EQ(lab::read_all(std::as_bytes(std::span(first, words))), sum) << words;
  }
}

TEST(Triad, WritesAllOfItAndNothingElse) {
  for (const std::size_t n : {0, 1, 15, 16, 31, 33, 1000})
    for (const std::size_t shift : {0, 1, 5}) {
      std::vector<float> a(n + 8, -1.0f), b(n), c(n);
      for (std::size_t i = 0; i < n; ++i) b[i] = static_cast<float>(i), c[i] = static_cast<float>(2 * i + 1);
      lab::triad(a.data() + shift, b.data(), c.data(), 3.0f, n);
      for (std::size_t i = 0; i < a.size(); ++i) {
        const bool inside = i >= shift && i < shift + n;
        EXPECT_EQ(a[i], inside ? static_cast<float>(7 * (i - shift) + 3) : -1.0f) << n << " " << shift << " " << i;
      }
    }
}

TEST(FmaChains, IterateEveryElement) {
  for (const std::size_t n : {0, 1, 16, 191, 192, 193, 1000}) {
    std::vector<float> in(n), c(n), out(n);
    for (std::size_t i = 0; i < n; ++i) {
      in[i] = 0.5f * static_cast<float>(i) / static_cast<float>(n);
      c[i] = in[i] - 1.9f;
    }
    lab::fma_chains(out.data(), in.data(), c.data(), n, 3);
    for (std::size_t i = 0; i < n; ++i) {
      double x = static_cast<double>(in[i]);
      for (int k = 0; k < 3; ++k) x = x * x + static_cast<double>(c[i]);
      EXPECT_NEAR(out[i], x, 1e-6) << n << " " << i;
    }
  }
}

TEST(EigenProduct, IsRowMajor) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6}, b{1, 0, 0, 1, 1, 1};  // (2, 3), (3, 2)
  std::vector<float> out(4);
  lab::eigen_product(out.data(), a.data(), b.data(), 2, 2, 3);
  EXPECT_EQ(out, (std::vector<float>{4, 5, 10, 11}));
}

TEST(RawSeconds, GoOn) {
  const double before = lab::raw_seconds();
  EXPECT_GE(lab::raw_seconds(), before);
}

}  // namespace
