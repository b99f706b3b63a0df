// What the simulated device cannot run: inline PTX, TMA, thread-block clusters, textures, libraries that are not there.
#pragma once

#include <string>
#include <vector>

#include "tokens.hpp"

namespace sim {

/// Puts a refusal, which says what to do instead, where such a thing stands. It speaks only where the preprocessor
/// keeps that line, so code for other architectures passes.
std::vector<edit> refusals(const std::string& source, const std::vector<token>& tokens);

}  // namespace sim
