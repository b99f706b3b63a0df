// Records every grading of a student's own files, one line each in attempts.jsonl next to progress.toml, and shows them
// over time on a page. Nothing leaves the machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "result/result.hpp"
#include "student/progress.hpp"

namespace grading {

struct attempted_item {
  std::string id, title;
  grading::verdict verdict = verdict::not_assessed;
  double points = 0, max_points = 0;
  std::optional<double> figure;
  std::string what;  ///< what the figure measures
};

struct attempt {
  std::string lab, lab_title, date;  ///< date: RFC 3339
  double points = 0, out_of = 0;
  std::vector<attempted_item> items;  ///< none if nothing was built
};

attempt attempt_of(const result& r);

/// Adds a line. Throws std::runtime_error if it cannot be written.
void keep_attempt(const std::filesystem::path& file, const attempt& a);

/// Records a grading of the student's own files in both files. Returns whether the lab is passed for the first time.
bool enter_grading(const std::filesystem::path& progress_file, const std::filesystem::path& attempts_file,
                   const result& r);

struct attempts {
  std::vector<attempt> all;  ///< in file order
  int unreadable = 0;        ///< lines that are not attempts, such as a line cut off by a full disk
};
attempts read_attempts(const std::filesystem::path& file);

/// One page: for each lab, the points over time, each item's progress, first and latest figure, and the latest result's
/// predictions, first and current.
std::string attempts_page(const attempts& made, const std::vector<result>& latest);

}  // namespace grading
