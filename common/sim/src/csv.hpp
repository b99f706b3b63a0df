// The launches in Nsight Compute's columns.
#pragma once

#include <string>
#include <vector>

#include "launches.hpp"

namespace sim {

/// The launches as `ncu --csv --page raw --print-units base` prints them: names, units, then a row for each launch.
/// Kernels are named as in the launching source.
std::string csv_of(const std::vector<launched>& launches);
/// Writes them to a file; "-" is stdout.
void write_csv(const std::string& path);

}  // namespace sim
