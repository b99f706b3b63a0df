#pragma once

#include "commands/command_line.hpp"

namespace grading {

/// Adds the grader's commands for a class.
void add_class_commands(command_line& line);

}  // namespace grading
