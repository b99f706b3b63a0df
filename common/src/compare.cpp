// Compares element by element. Each test asks "not within the tolerance", so that NaN fails.
#include "lab/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "lab/case.hpp"

namespace lab {
namespace {

template <class T>
std::string differences(std::span<const T> got, std::span<const T> want, tolerance allowed, std::size_t row_length) {
  if (got.size() != want.size()) return fmt::format("{} elements, should be {}", got.size(), want.size());
  constexpr std::size_t shown = 3;
  std::size_t wrong = 0;
  double least = std::numeric_limits<double>::infinity(), most = -least;  // got / want, of the wrong elements
  bool finite = true;
  std::string text;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (got[i] == want[i]) continue;  // covers equal infinities
    const double expected = static_cast<double>(want[i]);
    const double error = std::abs(static_cast<double>(got[i]) - expected);
    if (error <= allowed.absolute + allowed.relative * std::abs(expected) && std::isfinite(expected)) continue;
    const double factor = static_cast<double>(got[i]) / expected;
    least = std::min(least, factor);
    most = std::max(most, factor);
    finite &= std::isfinite(factor);
    if (wrong++ >= shown) continue;
    if (!text.empty()) text += "; ";
    text += row_length > 0 ? fmt::format("[{}, {}]", i / row_length, i % row_length) : fmt::format("[{}]", i);
    text += fmt::format(" is {}, should be {}", std::isnan(got[i]) ? std::abs(got[i]) : got[i], want[i]);
  }
  if (wrong == 0) return {};
  const bool one_factor = wrong > shown && finite && most - least <= 1e-3 * std::abs(most);
  return fmt::format("{} of {} elements are wrong: {}{}{}", wrong, want.size(), text, wrong > shown ? "; ..." : "",
                     !one_factor ? ""
                     : most == 0 ? "; all of these are zero"
                                 : fmt::format("; all of these are {:.4g} times what they should be", most));
}

using matrix = std::span<const float>;

/// A row of A B.
std::vector<double> row_of_product(matrix a, matrix b, std::size_t row, std::size_t n, std::size_t k) {
  std::vector<double> c(n);
  for (std::size_t i = 0; i < k; ++i) {
    const double factor = a[row * k + i];
    for (std::size_t q = 0; q < n; ++q) c[q] += factor * static_cast<double>(b[i * n + q]);
  }
  return c;
}

/// M v.
std::vector<double> times(matrix m, std::span<const double> v) {
  std::vector<double> out(m.size() / v.size());
  const auto row = [&](std::size_t r) {
    for (std::size_t i = 0; i < v.size(); ++i) out[r] += static_cast<double>(m[r * v.size() + i]) * v[i];
  };
  for_each_index(out.size(), row, v.size());
  return out;
}

/// With random signs, independent errors of n elements within the tolerance add up to about the root of the sum of
/// their squares; three times as much means a wrong element.
std::string wrong_sums(matrix a, matrix b, matrix c, std::size_t m, std::size_t n, tolerance allowed) {
  constexpr double margin = 3;
  const std::vector<float> random = random_floats(n, secret_seed());
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = random[i] < 0 ? -1.0 : 1.0;
  const std::vector<double> want = times(a, times(b, x)), got = times(c, x);
  for (std::size_t r = 0; r < m; ++r) {
    double squares = 0;
    for (std::size_t q = 0; q < n; ++q) {
      const double most = allowed.absolute + allowed.relative * std::abs(static_cast<double>(c[r * n + q]));
      squares += most * most;
    }
    // Infinite if C is; then the comparison below fails.
    const double error = std::abs(got[r] - want[r]), bound = margin * std::sqrt(squares);
    if (!(error <= bound) || !std::isfinite(bound))
      return fmt::format("row {}: its elements, summed with random signs, are off by {}; rounding explains at most {}",
                         r, error, bound);
  }
  return {};
}

}  // namespace

std::string product_mismatch(matrix a, matrix b, matrix c, std::int64_t rows, std::int64_t columns, std::int64_t depth,
                             tolerance allowed) {
  constexpr std::size_t small = std::size_t{1} << 25, checked_rows = 8, vectors = 3;
  const auto m = static_cast<std::size_t>(rows), n = static_cast<std::size_t>(columns),
             k = static_cast<std::size_t>(depth);
  if (m * n * k <= small) {
    std::vector<double> want(m * n);
    const auto row = [&](std::size_t r) {
      const std::vector<double> one = row_of_product(a, b, r, n, k);
      std::copy(one.begin(), one.end(), want.begin() + static_cast<std::ptrdiff_t>(r * n));
    };
    for_each_index(m, row, n * k);
    return differences<double>(std::vector<double>(c.begin(), c.end()), want, allowed, n);
  }
  random_sizes draw(secret_seed());
  for (std::size_t i = 0; i < checked_rows; ++i) {
    const auto r = static_cast<std::size_t>(draw(0, rows - 1));
    const matrix got = c.subspan(r * n, n);
    const std::string wrong =
        differences<double>(std::vector<double>(got.begin(), got.end()), row_of_product(a, b, r, n, k), allowed, 0);
    if (!wrong.empty()) return fmt::format("row {}: {}", r, wrong);
  }
  for (std::size_t i = 0; i < vectors; ++i)
    if (std::string wrong = wrong_sums(a, b, c, m, n, allowed); !wrong.empty()) return wrong;
  return {};
}

std::string mismatch(std::span<const float> got, std::span<const float> want, tolerance allowed,
                     std::size_t row_length) {
  return differences(got, want, allowed, row_length);
}

std::string mismatch(std::span<const double> got, std::span<const double> want, tolerance allowed,
                     std::size_t row_length) {
  return differences(got, want, allowed, row_length);
}

std::string copy_mismatch(std::span<const float> got, std::span<const float> want, std::size_t row_length) {
  std::string wrong = lab::mismatch(got, want, {}, row_length);
  if (wrong.empty() && std::memcmp(got.data(), want.data(), want.size_bytes()) != 0) wrong = "a -0 has lost its sign";
  return wrong;
}

double largest_error(std::span<const float> got, std::span<const double> want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double e = std::abs(static_cast<double>(got[i]) - want[i]);
    if (std::isnan(e)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, e);
  }
  return largest;
}

}  // namespace lab
