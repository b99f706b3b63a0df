// Builds the staff's part with the cmake command that a person would type.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace grading {

struct build_outcome {
  bool ok = false;
  std::string message;                ///< the compiler's first errors, if it failed
  std::set<std::string> asserting{};  ///< the submission's files that were compiled with an assertion
  std::set<std::string> left_out{};   ///< those that the program does not contain
};

class builder {
 public:
  explicit builder(std::filesystem::path build_dir) : dir_(std::move(build_dir)) {}

  const std::filesystem::path& dir() const { return dir_; }
  std::filesystem::path program(const std::string& target) const { return dir_ / "bin" / target; }
  bool has_target(const std::string& target);

  bool quiet = false;  ///< prints progress, but not the commands that it runs

  /// Prints the command, runs it, and keeps its output in build/logs/TARGET.log.
  build_outcome build(const std::string& target);

  /// The same, but only if one of these files, or a file in one of these folders, is newer than the last such build:
  /// comparing times is faster than running CMake and Ninja. Hand-in folders are the student's and do not count.
  build_outcome build_if_older(const std::string& target, const std::vector<std::filesystem::path>& sources);

 private:
  /// Runs a build under a lock, because two at a time in one folder would interfere. Keeps the command's output in
  /// `log` and shows progress on stderr. Returns the exit status.
  int run_alone(const std::string& command, const std::filesystem::path& log) const;

  std::filesystem::path dir_;
  std::set<std::string> targets_;  ///< empty until first asked for
};

/// The progress in a line of build output, such as "[12/240]"; "" for other lines.
std::string step_of(const std::string& line);

/// The first lines of a build's output that contain errors, at most three, or else its last lines.
std::string first_errors(const std::string& log);

}  // namespace grading
