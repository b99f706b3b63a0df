// Asynchronous copies that no thread has waited for yet.
#pragma once

#include <cstdint>

namespace sim {

/// Whether a thread has started an asynchronous copy to this shared-memory address and not yet waited for it.
bool copy_pending(std::uintptr_t address);

}  // namespace sim
