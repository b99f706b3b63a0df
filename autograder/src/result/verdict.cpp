#include "result/verdict.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace grading {
namespace {

constexpr const char* names[] = {"PASS",    "TOO SLOW",     "WRONG",        "WASTEFUL",     "BUILD ERROR", "CRASH",
                                 "TIMEOUT", "INCONCLUSIVE", "NOT ASSESSED", "NOT ANSWERED", "PENDING"};

}  // namespace

std::string name_of(verdict v) { return names[static_cast<std::size_t>(v)]; }

verdict verdict_named(const std::string& name) {
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (name == names[i]) return static_cast<verdict>(i);
  throw std::invalid_argument(fmt::format("no verdict '{}'; there are {}", name, fmt::join(names, ", ")));
}

bool is_assessed(verdict v) { return v != verdict::not_assessed; }

}  // namespace grading
