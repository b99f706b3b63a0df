// The runtime's lock and its errors.
#pragma once

#include <mutex>

#include "sim/api.h"

namespace sim {

std::mutex& runtime_mutex();        ///< for the program's calls
std::mutex& runtime_state_mutex();  ///< the same, for internal calls
/// Remembers the error for cudaGetLastError and returns it. A sticky error stays until cudaDeviceReset.
cudaError_t fail(cudaError_t error, bool sticky = false);
/// The error that every call returns after a kernel has failed, or from within a stream's host function.
cudaError_t sticky_error();

}  // namespace sim
