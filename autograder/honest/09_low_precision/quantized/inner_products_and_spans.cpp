#include <algorithm>
#include <array>
#include <execution>
#include <functional>
#include <numeric>
#include <ranges>
#include <span>
#include <vector>
#include "low_precision.hpp"

namespace lab09 {
namespace {

using weights = std::array<float, int_group>;

/// A byte's two numbers, looked up.
constexpr auto pairs = [] {
  std::array<std::array<float, 2>, 256> t{};
  for (int b = 0; b < 256; ++b) t[static_cast<std::size_t>(b)] = {static_cast<float>(b % 16 - 8), static_cast<float>(b / 16 - 8)};
  return t;
}();

weights unpacked(std::span<const std::int8_t, int_group> q) {
  weights w;
  std::ranges::copy(q, w.begin());
  return w;
}
weights unpacked(std::span<const std::uint8_t, int_group / 2> q) {
  weights w;
  for (auto low = w.begin(); const auto byte : q) {
    *low = pairs[byte][0];
    *(low++ + int_group / 2) = pairs[byte][1];
  }
  return w;
}

template <class Q, std::size_t bytes>
void multiply(std::span<float> y, const Q* q, const float* scale, std::span<const float> x) {
  const auto groups = x.size() / int_group;
  std::for_each(std::execution::unseq, y.begin(), y.end(), [=, first = y.data()](float& out) {
    const auto r = static_cast<std::size_t>(&out - first);
    auto numbers = std::views::iota(std::size_t{0}, groups);
    out = std::transform_reduce(numbers.begin(), numbers.end(), 0.0f, std::plus<>(), [&](std::size_t g) {
      const weights w = unpacked(std::span<const Q, bytes>(q + (r * groups + g) * bytes, bytes));
      return scale[r * groups + g] * std::inner_product(w.begin(), w.end(), x.begin() + static_cast<std::ptrdiff_t>(g * int_group), 0.0f);
    });
  });
}

}  // namespace

void matvec_int8(float* y, const std::int8_t* q, const float* scale, const float* x, std::size_t rows, std::size_t columns) {
  multiply<std::int8_t, int_group>({y, rows}, q, scale, {x, columns});
}
void matvec_int4(float* y, const std::uint8_t* q, const float* scale, const float* x, std::size_t rows, std::size_t columns) {
  multiply<std::uint8_t, int_group / 2>({y, rows}, q, scale, {x, columns});
}

}  // namespace lab09
