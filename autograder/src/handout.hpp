// The grading table of a handout, which says what the rubric says.
#pragma once

#include <string>

#include "rubric.hpp"

namespace grading {

/// The handout with the table between its two marks brought up to date. Throws input_error where a mark is missing.
std::string with_grading_table(const std::string& handout, const rubric& rules);

}  // namespace grading
