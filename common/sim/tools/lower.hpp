// Turns `kernel<<<grid, block>>>(x)` into what a C++ compiler can read; nothing else changes and no line moves.
#pragma once

#include <string>
#include <vector>

#include "tokens.hpp"

namespace sim {

/// Replaces each launch `K<<<C>>>` by what SIM_KERNEL(K)(::sim::configure(C)) stands for (sim/launch.h). Everything
/// keeps its line and, outside of macros and their arguments, its column: #line says where it was. A launch that makes
/// no sense becomes a refusal.
std::vector<edit> launch_edits(const std::string& source, const std::vector<token>& tokens);

/// The same text with its launches replaced.
std::string lower_launches(const std::string& source);

}  // namespace sim
