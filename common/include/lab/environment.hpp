// Where and when a number was measured.
#pragma once

#include <map>
#include <string>

namespace lab {

/// "date" (UTC), "cpu", "compiler", and where nvidia-smi answers "gpu", "driver" and the clocks at this moment. Unknown
/// values are missing. Takes a fraction of a second.
std::map<std::string, std::string> environment();

}  // namespace lab
