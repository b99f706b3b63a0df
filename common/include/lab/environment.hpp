// Records where and when a number was measured.
#pragma once

#include <map>
#include <string>

namespace lab {

/// "date" (UTC), "cpu", "compiler" and, if nvidia-smi answers, "gpu", "driver" and the current clocks. Unknown values
/// are missing. Takes a fraction of a second.
std::map<std::string, std::string> environment();

}  // namespace lab
