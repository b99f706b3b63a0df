// Libraries whose work runs on the host.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/api.h"

namespace sim {

/// A library's work on the host, as one entry of the launch log: `work` runs now or, if the stream is being captured,
/// each time the graph runs. Locks runtime_mutex and holds it while `work` runs.
cudaError_t library_call(const char* name, cudaStream_t stream, double flops, double bytes,
                         const std::function<void()>& work);
/// Memory that a call touches, and its name in the call's documentation.
struct device_range {
  const char* name;
  const void* begin;
  std::size_t bytes;
  bool written;
};
/// Likewise, for operands that must lie in device memory, as a kernel would need them: otherwise, and where `work`
/// throws because the operands' contents are unusable, the call is reported and all further CUDA calls fail.
cudaError_t library_call(const char* name, cudaStream_t stream, double flops, const std::vector<device_range>& operands,
                         const std::function<void()>& work);
/// What is wrong with a range that a kernel could not access; empty if it could. Call while runtime_mutex is locked.
std::string outside_device_memory(const void* begin, std::size_t bytes);
/// If so, the host may touch device memory, since it acts as the device.
bool host_shares_device_memory();
bool library_at_work();
/// Products so far with an operand of which not each row (column, as cuBLAS counts) starts at a multiple of 16 bytes. A
/// GPU computes them several times more slowly.
extern std::size_t unaligned_products;
void host_wrote(const void* pointer, std::size_t bytes);

}  // namespace sim
