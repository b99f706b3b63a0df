// The formulas in the drawings: data-is="sectors(4, 4 * lane)". A value is a list of numbers, most often of one; an
// operation of two lists goes element by element.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace drawings {

using value = std::vector<double>;
using names = std::map<std::string, value>;

/// Throws, with the formula, if a name in it is unknown or it is not a formula.
value value_of(std::string_view formula, const names& known);
/// The one number of a value; throws if it is another number of them.
double number_in(const value& v);
/// The parts of a formula between separators that are not in brackets.
std::vector<std::string> parts(std::string_view text, char separator);

/// What the simulated device counts and the labs' own code computes, by name (figures.cpp); its arguments are formulas.
using figure = std::function<value(const std::vector<std::string>&, const names&)>;
const std::map<std::string, figure>& figures();
/// Texts: a part of a report, or what a rubric says.
std::string words_of(const std::string& name);
/// "h200.launch_seconds": common/sim/devices has the keys.
value device_figure(const std::string& name);

}  // namespace drawings
