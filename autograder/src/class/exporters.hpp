// Results in the formats of other systems, each made only from the canonical result.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "result/result.hpp"

namespace grading {

struct export_options {
  std::string canvas_gradebook;  ///< a gradebook exported from Canvas: its columns and ids are kept
  std::string canvas_column;     ///< the assignment's column in it, as far as it is unique: "Lab 3"
  std::string canvas_key;        ///< the column that names submissions, "SIS Login ID"; "" for the one that matches
  std::function<void(const std::string&)> remark = [](const std::string&) {};  ///< what a person should know
};

/// "gradescope", "classroom50", "junit", "canvas", "csv", "nbgrader"
const std::vector<std::string>& export_formats();

/// Files by name. Results that say nothing about the submission (infra_error) are in none of them. Throws input_error
/// if the format is unknown, if results of several labs or out of different points would go to a format that has
/// a place for one, and if the gradebook is none or leaves open whose a result is.
std::map<std::string, std::string> exported(const std::string& format, const std::vector<result>& results,
                                            const export_options& options = {});

/// CSV as rows of fields, and fields as a row (RFC 4180).
struct csv_row {
  std::size_t line = 1;  ///< where it begins
  std::vector<std::string> fields;
};
std::vector<csv_row> csv_rows(const std::string& text);
std::string csv_line(std::vector<std::string> fields);

/// Text that no spreadsheet takes for a formula: with an apostrophe before what it would. Different texts stay so.
std::string no_formula(const std::string& field);

}  // namespace grading
