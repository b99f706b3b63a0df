#pragma once

#include "commands/command_line.hpp"

namespace grading {

/// Adds the grader's commands for students.
void add_student_commands(command_line& line);

}  // namespace grading
