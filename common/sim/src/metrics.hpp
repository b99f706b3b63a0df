// A launch under Nsight Compute's names and by source line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lab/execute.hpp"
#include "launches.hpp"

namespace sim {

/// Counters of one launch. dram__* and gpu__time_duration are modelled, the others exact.
std::map<std::string, double> metrics_of(const launched& what);
std::vector<lab::line_counters> lines_of(const launched& what);

}  // namespace sim
