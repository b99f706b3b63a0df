// Names of the verdicts and the spelling of numbers.
#include "result/verdict.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

namespace grading {
namespace {

constexpr const char* names[] = {"PASS",    "TOO SLOW",     "WRONG",        "WASTEFUL",     "BUILD ERROR", "CRASH",
                                 "TIMEOUT", "INCONCLUSIVE", "NOT ASSESSED", "NOT ANSWERED", "PENDING"};

}  // namespace

std::string name_of(verdict v) { return names[static_cast<std::size_t>(v)]; }

verdict verdict_named(const std::string& name) {
  std::string all;
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (name == names[i]) return static_cast<verdict>(i);
    all += (i ? ", " : "") + std::string(names[i]);
  }
  throw std::invalid_argument(fmt::format("no verdict '{}'; there are {}", name, all));
}

bool is_assessed(verdict v) { return v != verdict::not_assessed; }

std::string points_text(double points) {
  std::string text = fmt::format("{:.2f}", points);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string figure_text(double figure) {
  if (!std::isfinite(figure)) return "none";
  if (figure == std::round(figure) && std::abs(figure) < 1e7) return fmt::format("{:.0f}", figure);
  return fmt::format("{:.3g}", figure);
}

}  // namespace grading
