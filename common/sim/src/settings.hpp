// Settings from the environment.
#pragma once

namespace sim {

/// The value of a SIM_ variable when the program was loaded; null if it was empty. The program's own code cannot change
/// it, so a submission cannot skip blocks.
const char* setting(const char* name);

}  // namespace sim
