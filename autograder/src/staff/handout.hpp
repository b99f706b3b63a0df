// Parts of Markdown files that are generated from other files, between two marks.
#pragma once

#include <string>

#include "course/rubric.hpp"

namespace grading {

/// The text with `part` between the marks <!-- NAME: begin --> and <!-- NAME: end -->. Throws input_error where a mark
/// is missing.
std::string with_generated(const std::string& text, const std::string& name, const std::string& part);

/// The handout with its grading table as the rubric has it.
std::string with_grading_table(const std::string& handout, const rubric& rules);

}  // namespace grading
