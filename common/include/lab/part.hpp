// The processor on which a function of the contract runs.
#pragma once

namespace lab {

/// On the CPU, or on the device (a GPU or the simulated one).
enum class part { host, device };

}  // namespace lab
