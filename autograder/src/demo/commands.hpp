#pragma once

#include "commands/command_line.hpp"

namespace grading {

/// Adds the command that shows what a lab's solution, skeleton and wrong submissions get.
void add_demo_command(command_line& line);

}  // namespace grading
