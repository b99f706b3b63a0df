// Settings from the environment.
#pragma once

namespace sim {

/// A SIM_ variable's value when the program was loaded; null if empty. The program's own code cannot change it, so a
/// submission cannot skip blocks.
const char* setting(const char* name);

}  // namespace sim
