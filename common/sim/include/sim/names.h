// What the simulated device's messages call an allocation.
#pragma once

#include <string>

namespace sim {

/// In place of "allocation 46"; `pointer` is where it begins.
void name_allocation(const void* pointer, std::string name);

}  // namespace sim
