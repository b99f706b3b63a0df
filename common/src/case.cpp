// The registry of cases: each lab's cases.cpp registers its own before main, or when its module is loaded.
#include "lab/case.hpp"

#include <dlfcn.h>
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
  static std::map<std::string, maker> all;  // local: registrations run before this file's globals exist
  return all;
}

std::filesystem::path& folder_of_modules() {
  static std::filesystem::path folder;
  return folder;
}

/// Null if there is no such lab.
const maker* maker_of(const std::string& lab) {
  const auto found = makers().find(lab);
  if (found != makers().end()) return &found->second;
  if (folder_of_modules().empty() || !std::filesystem::exists(module_of(lab))) return nullptr;
  if (!dlopen(module_of(lab).c_str(), RTLD_NOW | RTLD_LOCAL)) throw std::runtime_error(dlerror());
  return &makers().at(lab);
}

}  // namespace

void load_cases_from(const std::filesystem::path& folder) { folder_of_modules() = folder; }

std::filesystem::path module_of(const std::string& lab) { return folder_of_modules() / (lab + ".so"); }

case_registration::case_registration(std::string lab, std::vector<test_case> (*make)(),
                                     std::vector<test_case> (*draw)(std::uint64_t)) {
  makers().insert_or_assign(std::move(lab), maker{make, draw});
}

const std::vector<test_case>& cases_of(const std::string& lab) {
  static std::map<std::string, std::vector<test_case>> made;
  if (const auto found = made.find(lab); found != made.end()) return found->second;
  const maker* make = maker_of(lab);
  if (!make)
    throw std::invalid_argument(fmt::format(
        "the cases of lab '{}' are not built: cmake --build build --target lab{}.cases", lab, lab.substr(0, 2)));
  return made.emplace(lab, make->all()).first->second;
}

std::vector<test_case> drawn_cases_of(const std::string& lab, std::uint64_t seed) {
  const maker* make = maker_of(lab);
  return make && make->drawn ? make->drawn(seed) : std::vector<test_case>{};
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
