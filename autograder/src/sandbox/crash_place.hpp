// Where a program crashed: the line of the hand-in file. For a student's own machine: repeats the call with a signal
// handler loaded into the program. Never for an official grading.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sandbox/executor.hpp"

namespace grading {

/// " at gelu.cpp:12", or "" if that cannot be told. `again` has not run yet; `reporter` is the library with the
/// handler; of the calls on the stack the innermost in one of `files` counts.
std::string place_of_crash(executor& again, const std::filesystem::path& program, const std::filesystem::path& reporter,
                           const std::vector<std::string>& files, const std::function<void(executor&)>& call);

}  // namespace grading
