// Checks an author's lab: rubric, hints, predictions and wrong submissions must name the same items.
#pragma once

#include <string>
#include <vector>

#include "commands/command_line.hpp"
#include "course/rubric.hpp"
#include "course/submission.hpp"

namespace grading {

/// Throws input_error, which names the file and what to do, if an item has no hint or a hint no item; if
/// predictions.toml and the rubric do not have the same predictions; if a text for students gives an answer away; or if
/// a wrong submission's expectation names an unknown item.
void check_lab(const lab_folder& lab, const rubric& rules, const std::vector<submission>& submissions);

/// Checks the labs with these numbers, or all, and everything generated from them: tables in handouts, README.md and
/// the walkthrough, answers to predictions, the scoreboard. Updates these if `write`. Prints each error; returns
/// true if there was none.
bool check_course(const settings& s, const std::vector<std::string>& numbers, bool write);

}  // namespace grading
