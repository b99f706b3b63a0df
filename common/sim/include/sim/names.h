// Names of allocations in the simulated device's messages.
#pragma once

#include <string>

namespace sim {

/// Replaces "allocation 46"; `pointer` is its first byte.
void name_allocation(const void* pointer, std::string name);

}  // namespace sim
