// A launch under Nsight Compute's names and by source line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launches.hpp"
#include "sim/observe.hpp"

namespace sim {

/// Counters of one launch. dram__* and gpu__time_duration are modelled, the others exact.
std::map<std::string, double> metrics_of(const launched& what);
/// The counters of several launches together: sums, and ratios of the sums.
std::map<std::string, double> metrics_of(const std::vector<const launched*>& all);
void add_ratios(std::map<std::string, double>& sums);
/// Whether this is the name of a launch's metric.
bool is_metric(const std::string& name);
std::vector<line_counters> lines_of(const launched& what);

}  // namespace sim
