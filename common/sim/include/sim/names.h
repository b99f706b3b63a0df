// What the grader tells the simulated device, and asks it: names of allocations, whose they are, why a kernel ended.
#pragma once

#include <cstddef>
#include <string>

namespace sim {

/// Replaces "allocation 46", which holds the byte at `pointer`.
void name_allocation(const void* pointer, const std::string& name);

/// How many live allocations have no name.
std::size_t unnamed_allocations();

/// What the checkers say of the last kernel that was aborted, in one line, or "".
std::string why_aborted();

}  // namespace sim
