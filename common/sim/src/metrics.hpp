// A launch under Nsight Compute's names and by source line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "internal.hpp"
#include "lab/execute.hpp"

namespace sim {

/// Counters of one launch. dram__* and gpu__time_duration are modelled, the others exact.
std::map<std::string, double> metrics_of(const launched& what);
std::vector<lab::line_counters> lines_of(const launched& what);

/// The launches as `ncu --csv --page raw --print-units base` prints them: names, units, then a row for each launch.
/// Kernels have the names that the source launches them by.
std::string csv_of(const std::vector<launched>& launches);
/// Writes them to a file; "-" is stdout.
void write_csv(const std::string& path);

}  // namespace sim
