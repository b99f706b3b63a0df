// Compares a result with its expected value.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>

namespace lab {

/// |got - want| may be at most absolute + relative * |want|. With both at zero, got and want must be equal.
struct tolerance {
  double absolute = 0.0;
  double relative = 0.0;
};

/// "" if all elements agree; otherwise how many differ and the first few, with their indices.
/// NaN in `got` never agrees. `row_length` > 0 prints an index as [row, column].
std::string mismatch(std::span<const float> got, std::span<const float> want, tolerance allowed,
                     std::size_t row_length = 0);
std::string mismatch(std::span<const double> got, std::span<const double> want, tolerance allowed,
                     std::size_t row_length = 0);

/// The same for a copy, which must keep all bits: the sign of -0, too.
std::string copy_mismatch(std::span<const float> got, std::span<const float> want, std::size_t row_length = 0);

/// The largest |got - want|; infinite if the lengths differ or a number is NaN.
double largest_error(std::span<const float> got, std::span<const double> want);

/// What is wrong with row-major C (m, n) = A (m, k) B (k, n), or "". An element may be off by `allowed`. Recomputes a
/// small product in double, a large one only in eight rows; for all rows, C x must equal A (B x) for three vectors x of
/// random signs (Freivalds, 1977). Chooses rows and signs only after the answer exists, so no answer can be tailored to
/// them.
std::string product_mismatch(std::span<const float> a, std::span<const float> b, std::span<const float> c,
                             std::int64_t m, std::int64_t n, std::int64_t k, tolerance allowed);

/// Sums in double.
struct dot {
  double sum = 0;    ///< of x[i] y[i]
  double terms = 0;  ///< of |x[i] y[i]|
};

/// Two vectors of numbers that convert to float or double. `y` must be at least as long as `x`. Uses eight partial
/// sums: a single one would wait for each addition.
template <class X, class Y>
dot dot_of(std::span<X> x, std::span<Y> y) {
  constexpr std::size_t parts = 8;
  std::array<double, parts> sum{}, terms{};
  const auto add = [&](std::size_t i, std::size_t part) {
    const double term = static_cast<double>(static_cast<float>(x[i])) * static_cast<double>(y[i]);
    sum[part] += term;
    terms[part] += std::abs(term);
  };
  std::size_t i = 0;
  for (; i + parts <= x.size(); i += parts)
    for (std::size_t part = 0; part < parts; ++part) add(i + part, part);
  for (; i < x.size(); ++i) add(i, 0);
  return {std::reduce(sum.begin(), sum.end()), std::reduce(terms.begin(), terms.end())};
}

}  // namespace lab
