// Results in the formats of others, each made from the one canonical result and from nothing else.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "result.hpp"

namespace grading {

struct export_options {
  std::string canvas_gradebook;  ///< a gradebook exported from Canvas: its columns and ids are kept
  std::string canvas_column;     ///< the assignment's column in it, as far as it is unique: "Lab 3"
  int total = 100;               ///< points that a lab has
  std::function<void(const std::string&)> remark = [](const std::string&) {};  ///< what a person should know
};

/// "gradescope", "classroom50", "junit", "canvas", "csv", "nbgrader"
const std::vector<std::string>& export_formats();

/// Files by name. Results that say nothing about the submission (infra_error) are in none of them. Throws input_error
/// where the format is unknown, the gradebook is none, or results of several labs would go to a format that has a
/// place for one.
std::map<std::string, std::string> exported(const std::string& format, const std::vector<result>& results,
                                            const export_options& options = {});

/// One line of CSV as fields, and fields as a line; text that a spreadsheet would take for a formula gets an
/// apostrophe.
std::vector<std::string> csv_fields(const std::string& line);
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace grading
