// Asynchronous copies that are still awaited.
#pragma once

#include <cstdint>

namespace sim {

/// Whether an asynchronous copy to this address of shared memory has started and its thread has not waited for it.
bool copy_pending(std::uintptr_t address);

}  // namespace sim
