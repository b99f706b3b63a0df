// Libraries whose kernels the host plays.
#pragma once

#include <cstddef>
#include <functional>

#include "sim/api.h"

namespace sim {

/// A library's work on the host, as one entry of the launch log: `work` runs now, or whenever the graph does that the
/// stream is captured to. Takes runtime_mutex itself and holds it while `work` runs.
cudaError_t library_call(const char* name, cudaStream_t stream, double flops, double bytes,
                         const std::function<void()>& work);
/// Then the host may touch device memory: it plays the device's part.
bool host_shares_device_memory();
bool library_at_work();
void host_wrote(const void* pointer, std::size_t bytes);

}  // namespace sim
