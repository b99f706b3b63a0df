// What a program leaves at its end: a summary, a table of its launches, the warp view.
#pragma once

#include <string>

namespace sim {

/// With SIM_REPORT set: a summary of all launches on stderr when the program ends; exit code 1 if a checker
/// reported an error.
void report_at_exit();
/// Writes the launches to a file, "-" is stdout, as `ncu --csv --page raw --print-units base` prints them: names,
/// units, then a row for each launch. Kernels are named as in the launching source.
void write_csv(const std::string& path);
/// Writes the warp view (./course see), self-contained HTML, to a file; prints its path on stderr, or why it cannot be
/// written.
void write_page(const std::string& path);

}  // namespace sim
