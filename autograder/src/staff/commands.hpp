#pragma once

#include "commands/command_line.hpp"

namespace grading {

/// Adds the grader's commands for the course's staff.
void add_staff_commands(command_line& line);

}  // namespace grading
