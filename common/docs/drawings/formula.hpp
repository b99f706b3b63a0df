// The formulas in the drawings: data-is="sectors(4, 4 * lane)". A value is a list of numbers, usually just one;
// operations on two lists go element by element.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace drawings {

using value = std::vector<double>;
using names = std::map<std::string, value>;

/// Throws, quoting the formula, if it is invalid or names something unknown.
value value_of(std::string_view formula, const names& known);
/// A value's only number; throws if it has none or several.
double number_in(const value& v);
/// The parts of a formula between separators that are not in brackets.
std::vector<std::string> parts(std::string_view text, char separator);

/// A named figure, counted by the simulated device or computed by the labs' own code (figures.cpp); its arguments are
/// formulas.
using figure = std::function<value(const std::vector<std::string>&, const names&)>;
const std::map<std::string, figure>& figures();
/// Texts: a part of a report, or of a rubric.
std::string words_of(const std::string& name);
/// "h200.launch_seconds": common/sim/devices has the keys.
value device_figure(const std::string& name);

}  // namespace drawings
