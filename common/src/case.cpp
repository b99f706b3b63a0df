// The register of cases, filled before main by each lab's cases.cpp.
#include "lab/case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <thread>

namespace lab {
namespace {

struct maker {
  std::vector<test_case> (*all)() = nullptr;
  std::vector<test_case> (*drawn)(std::uint64_t) = nullptr;
};

std::map<std::string, maker>& makers() {
  static std::map<std::string, maker> all;  // inside a function: registrations run before this file's own statics
  return all;
}

}  // namespace

case_registration::case_registration(std::string lab, std::vector<test_case> (*make)(),
                                     std::vector<test_case> (*draw)(std::uint64_t)) {
  makers().insert_or_assign(std::move(lab), maker{make, draw});
}

const std::vector<test_case>& cases_of(const std::string& lab) {
  static std::map<std::string, std::vector<test_case>> made;
  if (const auto found = made.find(lab); found != made.end()) return found->second;
  const auto make = makers().find(lab);
  if (make == makers().end())
    throw std::invalid_argument(fmt::format("this program is linked without the cases of lab '{}'", lab));
  return made.emplace(lab, make->second.all()).first->second;
}

std::vector<test_case> drawn_cases_of(const std::string& lab, std::uint64_t seed) {
  const auto make = makers().find(lab);
  return make == makers().end() || !make->second.drawn ? std::vector<test_case>{} : make->second.drawn(seed);
}

void in_parallel(std::size_t count, const std::function<void(std::size_t, std::size_t)>& body, std::size_t each) {
  constexpr std::size_t worth_a_thread = 1 << 18;
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t parts = std::clamp(count * each / worth_a_thread, std::size_t{1}, cores);
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < parts; ++i)
    others.emplace_back([&body, i, parts, count] { body(count * i / parts, count * (i + 1) / parts); });
  body(0, count / parts);
}

}  // namespace lab
