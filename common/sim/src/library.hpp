// Libraries whose work runs on the host.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/api.h"

namespace sim {

/// Enters a library's work in the launch log: `work` runs on the host, now or, if the stream is being captured, each
/// time the graph runs. Locks runtime_mutex and holds it while `work` runs.
cudaError_t library_call(const char* name, cudaStream_t stream, double flops, double bytes,
                         const std::function<void()>& work);
/// Memory that a call accesses, and its name in the call's documentation.
struct device_range {
  const char* name;
  const void* begin;
  std::size_t bytes;
  bool written;
};
/// The same for operands that must be in device memory, as for a kernel. If one is not, or if `work` throws because an
/// operand's contents are unusable, reports the call and makes all further CUDA calls fail.
cudaError_t library_call(const char* name, cudaStream_t stream, double flops, const std::vector<device_range>& operands,
                         const std::function<void()>& work);
/// Why a kernel could not access this range; empty if it could. Call with runtime_mutex locked.
std::string outside_device_memory(const void* begin, std::size_t bytes);
/// Whether the host acts as the device, so that it may access device memory.
bool host_shares_device_memory();
bool library_at_work();
/// Products so far with an operand whose rows (for cuBLAS, columns) do not all start at multiples of 16 bytes. A GPU
/// computes them several times more slowly.
extern std::size_t unaligned_products;
void host_wrote(const void* pointer, std::size_t bytes);

}  // namespace sim
