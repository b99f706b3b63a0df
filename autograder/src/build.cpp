// cmake --build, with its output kept and its first errors picked out.
#include "build.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <sstream>
#include <thread>
#include <vector>

#include "command.hpp"
#include "toml_file.hpp"
#include "turn.hpp"

namespace grading {

bool builder::has_target(const std::string& target) {
  if (targets_.empty()) {
    // Make lists "... name", Ninja "name: rule".
    std::istringstream help(
        output_of(fmt::format("cmake --build {} --target help 2>/dev/null", quoted(dir_.string()))));
    for (std::string line; std::getline(help, line);) {
      if (line.rfind("... ", 0) == 0) line.erase(0, 4);
      targets_.insert(line.substr(0, line.find_first_of(": ")));
    }
  }
  return targets_.contains(target);
}

int builder::run_alone(const std::string& command) const {
  const file_lock alone(dir_ / "building.lock", LOCK_EX);
  return run_command(command);
}

build_outcome builder::build(const std::string& target) {
  const std::filesystem::path log = dir_ / "logs" / (target + ".log");
  std::filesystem::create_directories(log.parent_path());
  const unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  const std::string command =
      fmt::format("cmake --build {} --target {} --parallel {}", quoted(dir_.string()), quoted(target), jobs);
  if (!quiet) fmt::print("{}\n", command);
  const int code = run_alone(fmt::format("{} > {} 2>&1", command, quoted(log.string())));
  if (code == 0) return {true, {}};
  return {false, first_errors(text_of(log)) + "\nall of it: " + log.string()};
}

void builder::build_ahead(const std::vector<std::string>& targets) {
  std::string names;
  for (const std::string& target : targets) names += " " + quoted(target);
  const std::filesystem::path log = dir_ / "logs" / "ahead.log";
  std::filesystem::create_directories(log.parent_path());
  fmt::print("building {} programs\n", targets.size());
  std::fflush(stdout);
  run_alone(
      fmt::format("cmake --build {} --target{} -- -k 0 > {} 2>&1", quoted(dir_.string()), names, quoted(log.string())));
}

std::string first_errors(const std::string& log) {
  constexpr std::size_t most = 3;
  std::vector<std::string> lines, errors;
  std::istringstream in(log);
  for (std::string line; std::getline(in, line);) {
    const bool names_error = line.find("error:") != std::string::npos || line.find(": error") != std::string::npos ||
                             line.find("undefined reference") != std::string::npos;
    if (names_error && errors.size() < most) errors.push_back(line);
    if (!line.empty()) lines.push_back(line);
  }
  if (errors.empty()) errors.assign(lines.size() > most ? lines.end() - most : lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(errors, "\n"));
}

}  // namespace grading
