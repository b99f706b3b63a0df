// Comparing element by element. Written as "not within the tolerance", so that NaN fails.
#include "lab/compare.hpp"

#include <fmt/format.h>

#include <cmath>

namespace lab {
namespace {

template <class T>
std::string differences(std::span<const T> got, std::span<const T> want, tolerance allowed, std::size_t row_length) {
  if (got.size() != want.size()) return fmt::format("{} elements, should be {}", got.size(), want.size());
  constexpr std::size_t shown = 3;
  std::size_t wrong = 0;
  std::string text;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (got[i] == want[i]) continue;  // equal infinities too
    const double expected = static_cast<double>(want[i]);
    const double error = std::abs(static_cast<double>(got[i]) - expected);
    if (error <= allowed.absolute + allowed.relative * std::abs(expected) && std::isfinite(expected)) continue;
    if (wrong++ >= shown) continue;
    if (!text.empty()) text += "; ";
    text += row_length > 0 ? fmt::format("[{}, {}]", i / row_length, i % row_length) : fmt::format("[{}]", i);
    text += fmt::format(" is {}, should be {}", std::isnan(got[i]) ? std::abs(got[i]) : got[i], want[i]);
  }
  if (wrong == 0) return {};
  return fmt::format("{} of {} elements are wrong: {}{}", wrong, want.size(), text, wrong > shown ? "; ..." : "");
}

}  // namespace

std::string mismatch(std::span<const float> got, std::span<const float> want, tolerance allowed,
                     std::size_t row_length) {
  return differences(got, want, allowed, row_length);
}

std::string mismatch(std::span<const double> got, std::span<const double> want, tolerance allowed,
                     std::size_t row_length) {
  return differences(got, want, allowed, row_length);
}

}  // namespace lab
