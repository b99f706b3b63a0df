// Results in other systems' formats, each made only from the canonical result.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "result/result.hpp"

namespace grading {

struct export_options {
  std::string canvas_gradebook;  ///< a gradebook exported from Canvas: its columns and ids are kept
  std::string canvas_column;     ///< a unique prefix of the assignment's column in it: "Lab 3"
  std::string canvas_key;        ///< the column that names submissions, "SIS Login ID"; "" for the best match
  std::function<void(const std::string&)> remark = [](const std::string&) {};  ///< notes for a person
};

/// "gradescope", "classroom50", "junit", "canvas", "csv", "nbgrader"
const std::vector<std::string>& export_formats();

/// Files by name. Omits results that say nothing about the submission (infra_error). Throws input_error if the format
/// is unknown, if it can hold only one lab or total and the results have several, or if the gradebook is invalid or
/// does not identify a result's student.
std::map<std::string, std::string> exported(const std::string& format, const std::vector<result>& results,
                                            const export_options& options = {});

/// Parses CSV into rows of fields, and writes fields as a row (RFC 4180).
struct csv_row {
  std::size_t line = 1;  ///< where the row begins
  std::vector<std::string> fields;
};
std::vector<csv_row> csv_rows(const std::string& text);
std::string csv_line(std::vector<std::string> fields);

/// The text, with an apostrophe before anything that a spreadsheet would take for a formula. Different texts stay
/// different.
std::string no_formula(const std::string& field);

}  // namespace grading
