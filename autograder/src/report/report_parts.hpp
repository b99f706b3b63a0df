// Parts of a submission's section in the report, each a piece of HTML.
#pragma once

#include <filesystem>
#include <string>

#include "result/result.hpp"

namespace grading {

/// Items with verdict, figure, bar, points, message, hint, conditions and predictions.
std::string items_part(const result& r);

/// Lines that access memory, with what each asked for; modelled times.
std::string profiles_part(const result& r, const std::filesystem::path& source);

/// Modelled time over blocks, for each case that launches one kernel with many sizes of grid.
std::string sweeps_part(const result& r);

/// The roofline with the points of this submission, drawn by gnuplot; a sentence where there is no gnuplot.
std::string roofline_part(const result& r, const std::filesystem::path& source);

}  // namespace grading
