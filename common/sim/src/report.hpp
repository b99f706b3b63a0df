// The summary that a program prints at its end.
#pragma once

namespace sim {

/// With SIM_REPORT set: a summary of all launches on stderr when the program ends; exit code 1 if a checker
/// reported an error.
void report_at_exit();

}  // namespace sim
