// cmake --build, with its output kept and its first errors picked out.
#include "build/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "support/command.hpp"
#include "support/files.hpp"
#include "support/lock.hpp"
#include "support/status_line.hpp"

namespace grading {

bool builder::has_target(const std::string& target) {
  if (targets_.empty()) {
    // Make lists "... name", Ninja "name: rule".
    std::istringstream help(
        output_of(fmt::format("cmake --build {} --target help 2>/dev/null", shell_word(dir_.string()))));
    for (std::string line; std::getline(help, line);) {
      if (line.rfind("... ", 0) == 0) line.erase(0, 4);
      targets_.insert(line.substr(0, line.find_first_of(": ")));
    }
  }
  return targets_.contains(target);
}

std::string step_of(const std::string& line) {
  const std::size_t end = line.find(']');
  const bool counts =
      line.starts_with('[') && end != std::string::npos && line.find_first_not_of("0123456789/% ", 1) == end;
  return counts ? line.substr(0, end + 1) : std::string{};
}

int builder::run_alone(const std::string& command, const std::filesystem::path& log) const {
  const file_lock alone(dir_ / "building.lock", LOCK_EX);
  std::fflush(nullptr);  // flush earlier output first
  std::ofstream kept(log);
  constexpr int every_seconds = 15;
  status_line progress(STDERR_FILENO, every_seconds);
  progress.show("building");
  std::string line, step;
  return run_command(command + " 2>&1", [&](std::string_view piece) {
    for (const char c : piece) {
      if (c != '\n') {
        line += c;
        continue;
      }
      if (const std::string now = step_of(line); !now.empty()) step = now;
      line.clear();
    }
    kept << piece;
    progress.show("building", step);
  });
}

build_outcome builder::build(const std::string& target) {
  const std::filesystem::path log = dir_ / "logs" / (target + ".log");
  std::filesystem::create_directories(log.parent_path());
  const unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  const std::string command =
      fmt::format("cmake --build {} --target {} --parallel {}", shell_word(dir_.string()), shell_word(target), jobs);
  if (!quiet) fmt::print("{}\n", command);
  const int code = run_alone(command, log);
  if (code == 0) return {true, {}};
  return {false, first_errors(text_of(log)) + "\nfull log: " + log.string()};
}

build_outcome builder::build_if_older(const std::string& target, const std::vector<std::filesystem::path>& sources) {
  namespace fs = std::filesystem;
  const fs::path stamp = dir_ / "stamps" / target;
  std::error_code missing;
  const fs::file_time_type built = fs::last_write_time(stamp, missing);
  const auto is_newer = [&](const fs::path& file) {
    std::error_code gone;
    const fs::file_time_type changed = fs::last_write_time(file, gone);
    return !gone && changed >= built;
  };
  const auto holds_newer = [&](const fs::path& source) {
    if (is_newer(source)) return true;
    if (!fs::is_directory(source)) return false;
    for (fs::recursive_directory_iterator at(source), end; at != end; ++at) {
      if (at->path().filename() == "handin") {
        at.disable_recursion_pending();
        continue;
      }
      if (is_newer(at->path())) return true;
    }
    return false;
  };
  if (!missing && std::none_of(sources.begin(), sources.end(), holds_newer)) return {true, {}};
  fs::create_directories(stamp.parent_path());
  const fs::path begun = stamp.string() + ".new";  // files saved during the build are newer
  replace_file(begun, "");
  build_outcome built_now = build(target);
  if (built_now.ok) fs::rename(begun, stamp);
  return built_now;
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
