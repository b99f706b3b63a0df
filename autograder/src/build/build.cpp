// cmake --build, with its output kept and its first errors picked out.
#include "build/build.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "support/command.hpp"
#include "support/files.hpp"
#include "support/lock.hpp"

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

namespace {

/// How far a build is: one line that is written again and again on a terminal, a line now and then elsewhere.
class progress_line {
 public:
  void show(const std::string& step) {
    const int seconds = static_cast<int>(std::chrono::duration<double>(clock::now() - start_).count());
    if (seconds < next_) return;
    next_ = terminal_ ? seconds + 1 : seconds + every_seconds;
    fmt::print(stderr, "{}building {}{}{} s{}", terminal_ ? "\r\033[K" : "", step, step.empty() ? "" : " ", seconds,
               terminal_ ? "" : "\n");
    shown_ = true;
  }
  ~progress_line() {
    if (terminal_ && shown_) fmt::print(stderr, "\r\033[K");
  }
  progress_line() = default;
  progress_line(const progress_line&) = delete;  // there is one
  progress_line& operator=(const progress_line&) = delete;

 private:
  using clock = std::chrono::steady_clock;
  static constexpr int every_seconds = 15;
  clock::time_point start_ = clock::now();
  bool terminal_ = isatty(STDERR_FILENO) == 1, shown_ = false;
  int next_ = terminal_ ? 1 : every_seconds;
};

}  // namespace

int builder::run_alone(const std::string& command, const std::filesystem::path& log) const {
  const file_lock alone(dir_ / "building.lock", LOCK_EX);
  std::fflush(nullptr);  // flush earlier output first
  std::ofstream kept(log);
  progress_line progress;
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
    progress.show(step);
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
