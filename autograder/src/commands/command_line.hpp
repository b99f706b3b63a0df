// The grader's command line: options for all commands, and what commands share. student/, class/ and staff/ each add
// their own commands.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "judge/local.hpp"
#include "judge/official.hpp"
#include "result/result.hpp"

namespace grading {

constexpr int all_well = 0, not_full_marks = 1, cannot = 2, skipped = 77;  // exit codes

/// Options of all commands.
struct settings {
  std::filesystem::path source, build;
  std::filesystem::path report;  ///< "" for the usual folder
  std::optional<std::uint64_t> seed;
  int timeout = 20;  ///< seconds for one call

  std::filesystem::path progress_file() const { return source / "progress.toml"; }
  std::filesystem::path attempts_file() const { return source / "attempts.jsonl"; }
  std::filesystem::path report_folder() const { return report.empty() ? build / "report" : report; }
  result_store store() const { return {report_folder() / "results"}; }
  local_options local() const;
  official_options official() const;

  /// The labs with these numbers; all labs if there are none. Throws input_error.
  std::vector<lab_folder> labs(const std::vector<std::string>& numbers) const;

  /// Renders the report and prints its path. Throws std::runtime_error if it cannot be written.
  void show_report() const;
};

class command_line {
 public:
  /// `source` and `build` are the defaults of --source and --build.
  command_line(const std::filesystem::path& source, const std::filesystem::path& build);
  command_line(const command_line&) = delete;  // its options point into it
  command_line& operator=(const command_line&) = delete;

  /// Adds a command, which calls `run`; `run` returns the exit code.
  CLI::App& add(const std::string& name, const std::string& help, std::function<int()> run);

  /// Parses the arguments and runs the command that they name. Returns the exit code.
  int run(int argc, char** argv);

  settings common;

 private:
  CLI::App app_;
  std::function<int()> chosen_;
};

/// Adds the lab's number as the command's first argument.
void add_lab(CLI::App& command, std::string& number);

/// Adds --jobs, the number of jobs at a time, as an int or std::size_t, optional or not.
template <class Number>
void add_jobs(CLI::App& command, Number& jobs, const std::string& help) {
  command.add_option("--jobs", jobs, help)->check(CLI::Range(1, 1000));
}

// Add the commands of a folder: for students, for a class, for the course's staff, and the demo, which shows what a
// lab's solution, skeleton and wrong submissions get.
void add_student_commands(command_line& line);
void add_class_commands(command_line& line);
void add_staff_commands(command_line& line);
void add_demo_command(command_line& line);

}  // namespace grading
