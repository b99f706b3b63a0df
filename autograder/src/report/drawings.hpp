// What gnuplot draws for a submission's section of the report.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "result/result.hpp"

namespace grading {

struct drawing {
  std::string subject;  ///< of a sweep its case; of a roofline the device whose times are modelled, "" if none are
  std::string svg;      ///< an element that goes into the page as it is; "" if gnuplot is missing
};

/// The roofline with the points of this submission; nothing if no point has a place on it.
std::optional<drawing> roofline(const result& r, const std::filesystem::path& source);

/// Modelled time over blocks, for each case that launches one kernel with many sizes of grid. None without gnuplot.
std::vector<drawing> sweeps(const result& r);

}  // namespace grading
