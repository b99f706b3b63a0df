// What the environment asks of the simulated device.
#pragma once

namespace sim {

/// The value that a SIM_ variable had when the program was loaded, or null if it was empty. The program's own code
/// cannot change it, so a submission cannot have blocks left out.
const char* setting(const char* name);

}  // namespace sim
