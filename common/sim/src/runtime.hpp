// The runtime's lock and its errors.
#pragma once

#include <mutex>

#include "sim/api.h"

namespace sim {

std::mutex& runtime_mutex();        ///< for a call of the program's
std::mutex& runtime_state_mutex();  ///< the same, for what the program does not call
/// Remembers the error for cudaGetLastError and returns it. A sticky error stays until cudaDeviceReset.
cudaError_t fail(cudaError_t error, bool sticky = false);
/// What every call returns once a kernel has gone wrong.
cudaError_t sticky_error();

}  // namespace sim
