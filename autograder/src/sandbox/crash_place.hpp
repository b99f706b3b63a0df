// Finds the line of the hand-in file at which a program crashed, by repeating the call with a signal handler loaded
// into the program. For a student's own machine, never for official grading.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sandbox/executor.hpp"

namespace grading {

/// " at gelu.cpp:12", or "" if unknown. `again` has not run yet; `reporter` is the library with the handler. The
/// innermost call on the stack that is in one of `files` counts.
std::string place_of_crash(executor& again, const std::filesystem::path& program, const std::filesystem::path& reporter,
                           const std::vector<std::string>& files, const std::function<void(executor&)>& call);

}  // namespace grading
