// Library calls whose work runs on the host, as entries of the launch log.
#include "library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>

#include "calls.hpp"
#include "devices.hpp"
#include "faults.hpp"
#include "heap.hpp"
#include "launches.hpp"
#include "model.hpp"
#include "program.hpp"
#include "report.hpp"
#include "runtime.hpp"
#include "streams.hpp"

namespace sim {
namespace {

bool at_work = false;  // a library_call is running; guarded by runtime_mutex
std::atomic<bool> shared_with_host = false;

}  // namespace

std::size_t unaligned_products = 0;

/// Also declared in cub/cub.cuh.
cudaError_t library_call(const char* name, cudaStream_t stream, double flops, double bytes,
                         const std::function<void()>& work) {
  report_at_exit();
  const api_call here("cudaLaunchKernel");
  const std::scoped_lock lock(runtime_mutex());
  if (sticky_error() != cudaSuccess) return sticky_error();
  if (!is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
  if (is_capturing(stream)) {
    record(stream, cudaGraphNodeTypeKernel, [=](cudaStream_t s) { library_call(name, s, flops, bytes, work); });
    return cudaSuccess;
  }
  at_work = true;
  work();
  at_work = false;
  if (sticky_error() != cudaSuccess) return sticky_error();
  const device_description& d = described_device();
  launched entry;
  entry.kernel = name;
  entry.config.stream = stream;
  entry.device = device_of(stream);
  entry.modelled_seconds =
      d.launch_seconds + std::max(flops / d.fp32_flops_per_second, bytes / d.copy_bytes_per_second);
  const double seconds = entry.modelled_seconds, begin = advance_clock(stream, seconds);
  add_to_launch_log(std::move(entry));
  tell({stream_work::kind::kernel, name, stream, begin, seconds, 0});
  return cudaSuccess;
}
cudaError_t library_call(const char* name, cudaStream_t stream, double flops, const std::vector<device_range>& operands,
                         const std::function<void()>& work) {
  double bytes = 0;
  for (const device_range& o : operands) bytes += static_cast<double>(o.bytes);
  return library_call(name, stream, flops, bytes, [=] {
    const auto stop = [&](const std::string& why) {
      note_host_fault(fmt::format("{}: {}", name, why));
      fail(cudaErrorIllegalAddress, true);
    };
    for (const device_range& o : operands)
      if (const std::string wrong = outside_device_memory(o.begin, o.bytes); !wrong.empty())
        return stop(fmt::format("{} ({} bytes) {}", o.name, o.bytes, wrong));
    try {
      work();
    } catch (const std::exception& unusable) {
      return stop(unusable.what());
    }
    for (const device_range& o : operands)
      if (o.written) host_wrote(o.begin, o.bytes);
  });
}

std::string outside_device_memory(const void* begin, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  if (bytes == 0 || is_program_variable(address)) return "";
  const allocation* home = find_allocation(address);
  if (!home) return "is not in device memory";
  if (!may_access(current_device(), *home)) return "is " + why_not(current_device(), *home);
  return address + bytes <= home->end ? ""
                                      : fmt::format("ends {} bytes past its allocation", address + bytes - home->end);
}

bool library_at_work() { return at_work; }
void share_device_memory_with_host() { shared_with_host = true; }
bool host_shares_device_memory() { return shared_with_host; }
/// Also declared in cub/cub.cuh, like the next one.
void library_copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
void host_wrote(const void* pointer, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
  if (begin - heap_base < heap_bytes) mark_valid(begin, bytes);
}

}  // namespace sim
