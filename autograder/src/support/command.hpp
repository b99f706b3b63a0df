// Running other programs: compilers, plotters, drivers' tools.
#pragma once

#include <string>

namespace grading {

/// Standard output of a shell command; "" where it cannot be run.
std::string output_of(const std::string& command);

/// Exit code of a shell command.
int run_command(const std::string& command);

/// The text as one word of a shell command.
std::string quoted(const std::string& word);

}  // namespace grading
