// Libraries whose work runs on the host.
#pragma once

#include <cstddef>
#include <functional>

#include "sim/api.h"

namespace sim {

/// A library's work on the host, as one entry of the launch log: `work` runs now or, if the stream is being captured,
/// each time the graph runs. Locks runtime_mutex and holds it while `work` runs.
cudaError_t library_call(const char* name, cudaStream_t stream, double flops, double bytes,
                         const std::function<void()>& work);
/// If so, the host may touch device memory, since it acts as the device.
bool host_shares_device_memory();
bool library_at_work();
void host_wrote(const void* pointer, std::size_t bytes);

}  // namespace sim
