// Generates parts of Markdown files, between two marks, from other files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/rubric.hpp"

namespace grading {

/// The text with `part` between the marks <!-- NAME: begin --> and <!-- NAME: end -->. Throws input_error if a mark
/// is missing.
std::string with_generated(const std::string& text, const std::string& name, const std::string& part);

/// The handout with the rubric's grading table.
std::string with_grading_table(const std::string& handout, const rubric& rules);

/// The handout with the command that runs its items as tests, and the points that they cover.
std::string with_tests(const std::string& handout, const rubric& rules);

/// README.md and the walkthrough in labs/, with their tables of all labs.
std::string with_questions(const std::string& readme, const std::vector<rubric>& labs);
std::string with_way(const std::string& walkthrough, const std::vector<rubric>& labs);

/// The instructor guide, with each lab's hours in its plan of a term, and their sums.
std::string with_plan(const std::string& guide, const std::vector<rubric>& labs);

/// solutions/README.md, with its list of worklogs.
std::string with_worklogs(const std::string& solutions, const std::vector<rubric>& labs);

/// The handout with the list of hand-in files.
std::string with_handin_list(const std::string& handout, const std::vector<std::string>& handin);

/// Throws input_error unless a student's folder holds exactly what the handout lists: grading would lack a missing file
/// and ignore an extra one.
void expect_handin_as_listed(const std::filesystem::path& lab_dir, const std::vector<std::string>& handin);

}  // namespace grading
