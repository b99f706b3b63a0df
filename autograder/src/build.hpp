// Building a submission's runners, by the same cmake command that a person would type.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace grading {

struct build_outcome {
  bool ok = false;
  std::string message;  ///< the first errors of the compiler, where it failed
};

class builder {
 public:
  explicit builder(std::filesystem::path build_dir) : dir_(std::move(build_dir)) {}

  const std::filesystem::path& dir() const { return dir_; }
  std::filesystem::path program(const std::string& target) const { return dir_ / "bin" / target; }
  bool has_target(const std::string& target);

  bool quiet = false;  ///< does not say which commands it runs

  /// Prints the command, runs it, keeps its output in build/logs/TARGET.log.
  build_outcome build(const std::string& target);

  /// Builds many targets at once, on all cores. Failures are left to the build of each.
  void build_ahead(const std::vector<std::string>& targets);

 private:
  /// Two builds of one folder at once get in each other's way. Returns the exit status.
  int run_alone(const std::string& command) const;

  std::filesystem::path dir_;
  std::set<std::string> targets_;  ///< empty until first asked for
};

/// The first lines of a build's output that name an error, at most three, or its last lines.
std::string first_errors(const std::string& log);

}  // namespace grading
