// Turns `kernel<<<grid, block>>>(x)` into what a C++ compiler can read; nothing else changes and no line moves.
#pragma once

#include <stdexcept>
#include <string>

namespace sim {

/// What the source says wrong, and in which line.
struct lowering_error : std::runtime_error {
  lowering_error(int at, const std::string& message) : std::runtime_error(message), line(at) {}
  int line;
};

/// The same text with each launch `K<<<C>>>` replaced by `SIM_KERNEL(K)(::sim::configure(C))`; as many lines as before.
/// Throws lowering_error for a launch without an end, or with nothing to launch.
std::string lower_launches(const std::string& source);

}  // namespace sim
