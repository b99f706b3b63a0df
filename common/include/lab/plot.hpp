// Plots by gnuplot, as SVG.
#pragma once

#include <string>

namespace lab {

/// The <svg> element that gnuplot draws; "" if it cannot. The script must be ours alone: gnuplot runs what it is
/// told.
std::string drawn_by_gnuplot(const std::string& script);

}  // namespace lab
