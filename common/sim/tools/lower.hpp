// Turns `kernel<<<grid, block>>>(x)` into C++; nothing else changes and no line moves.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/tokens.hpp"

namespace sim {

/// Turns each launch `K<<<C>>>` into the expansion of SIM_KERNEL(K)(::sim::configure(C)) (sim/launch.h). With the help
/// of #line, everything keeps its line and, outside macros and their arguments, its column. An invalid launch becomes a
/// refusal. `kernels`: the names of the kernels in the file's headers; adds the file's own.
std::vector<edit> launch_edits(const std::string& source, const std::vector<token>& tokens,
                               std::set<std::string>* kernels = nullptr);

/// The same text with its launches replaced.
std::string lower_launches(const std::string& source);

}  // namespace sim
