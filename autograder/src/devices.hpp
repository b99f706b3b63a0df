// Whether there is a GPU to grade on.
#pragma once

#include <string>

namespace grading {

/// Name of the first GPU, "" where there is none. Asks the driver's own tool, once.
const std::string& gpu_name();

}  // namespace grading
