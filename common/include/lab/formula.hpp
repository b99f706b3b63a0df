// Cases for a function that computes a formula: they call it with rows of numbers and compare each result with the
// right one.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "lab/case.hpp"

namespace lab {

struct formula {
  std::string entry;
  std::vector<std::string> arguments, results;
  std::function<std::vector<double>(const double* arguments)> want;
  double tolerance = 1e-9;                                         ///< relative: you may order the factors as you like
  std::function<std::string(const double* arguments)> about = {};  ///< names a row in messages
};

/// A host case that calls the formula on each row of arguments. Input: all rows, f64; parameter: their number; output:
/// a row of results for each, f64.
inline test_case rows_case(const formula& f, const std::string& label,
                           std::function<std::vector<double>(std::uint64_t seed)> rows) {
  const auto list = [](const std::vector<std::string>& names, const double* values) {
    std::ostringstream text;
    text.precision(12);
    for (std::size_t i = 0; i < names.size(); ++i) text << (i ? ", " : "") << names[i] << " = " << values[i];
    return text.str();
  };
  const std::size_t width = f.arguments.size(), count = rows(0).size() / width;
  test_case result;
  result.id = f.entry + "/" + label;
  result.entry = f.entry;
  result.where = part::host;
  result.parameters = {static_cast<std::int64_t>(count)};
  result.outputs = {{dtype::f64, static_cast<std::int64_t>(count * f.results.size())}};
  result.inputs = [rows](std::uint64_t seed) { return std::vector{buffer::of(rows(seed))}; };
  result.check = [f, list, width, count](std::span<const buffer> before,
                                         std::span<const buffer> outputs) -> std::string {
    const double* in = before[0].as<double>().data();
    const double* got = outputs[0].as<double>().data();
    for (std::size_t row = 0; row < count; ++row, in += width) {
      const std::vector<double> want = f.want(in);
      for (std::size_t i = 0; i < want.size(); ++i, ++got) {
        // == covers infinity; the second comparison is false for NaN.
        if (*got == want[i] || std::abs(*got - want[i]) <= f.tolerance * std::abs(want[i])) continue;
        const double pair[] = {*got, want[i]};
        std::ostringstream factor;
        factor.precision(4);
        if (const double ratio = *got / want[i]; want[i] != 0 && std::isfinite(ratio)) {
          if (std::abs(ratio - 1) < 0.01)
            factor << " (" << std::abs(*got - want[i]) << (*got < want[i] ? " less)" : " more)");
          else
            factor << " (" << ratio << " times that)";
        }
        return (f.results.size() > 1 ? f.results[i] + " " : "") + "of " + (f.about ? f.about(in) + ", " : "") +
               list(f.arguments, in) + ": " + list({"got", "expected"}, pair) + factor.str();
      }
    }
    return {};
  };
  return result;
}

}  // namespace lab
