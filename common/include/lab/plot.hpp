// Draws plots with gnuplot, as SVG.
#pragma once

#include <string>

namespace lab {

/// The <svg> element that gnuplot draws; "" if it cannot. The script must not contain text from a student: gnuplot can
/// run commands.
std::string drawn_by_gnuplot(const std::string& script);

}  // namespace lab
