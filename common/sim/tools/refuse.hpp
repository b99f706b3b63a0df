// Features that the simulated device cannot run: mipmapped textures, kernels compiled at run time, missing libraries.
#pragma once

#include <string>
#include <vector>

#include "sim/tokens.hpp"

namespace sim {

/// Inserts an error with an alternative wherever such a feature is used. The error appears only if the preprocessor
/// keeps that line, so code for other architectures passes.
std::vector<edit> refusals(const std::string& source, const std::vector<token>& tokens);

}  // namespace sim
