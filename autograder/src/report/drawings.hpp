// Drawings by gnuplot for a submission's section of the report.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "result/result.hpp"

namespace grading {

struct drawing {
  std::string subject;  ///< a sweep's case; for a roofline the device whose times are modelled, "" if none are
  std::string svg;      ///< an element to insert unchanged; "" if gnuplot is missing
};

/// The roofline with this submission's points; empty if there is nothing to plot.
std::optional<drawing> roofline(const result& r, const std::filesystem::path& source);

/// Modelled time against blocks, for each case that launches one kernel with many grid sizes. None without gnuplot.
std::vector<drawing> sweeps(const result& r);

}  // namespace grading
