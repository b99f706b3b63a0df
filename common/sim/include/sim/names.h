// Names of allocations in the simulated device's messages; whose they are.
#pragma once

#include <cstddef>
#include <string>

namespace sim {

/// Replaces "allocation 46", which holds the byte at `pointer`.
void name_allocation(const void* pointer, const std::string& name);

/// How many live allocations have no name.
std::size_t unnamed_allocations();

}  // namespace sim
