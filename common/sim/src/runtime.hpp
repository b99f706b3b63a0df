// The runtime's lock and its errors.
#pragma once

#include <mutex>

#include "sim/api.h"

namespace sim {

std::mutex& runtime_mutex();
/// Remembers the error for cudaGetLastError and returns it. A sticky error stays until cudaDeviceReset.
cudaError_t fail(cudaError_t error, bool sticky = false);
/// What every call returns once a kernel has gone wrong.
cudaError_t sticky_error();

}  // namespace sim
