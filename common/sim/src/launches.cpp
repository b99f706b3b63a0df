// From <<<>>> to an entry of the launch log.
#include "launches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "budget.hpp"
#include "calls.hpp"
#include "devices.hpp"
#include "faults.hpp"
#include "grid.hpp"
#include "heap.hpp"
#include "hooks.hpp"
#include "kernels.hpp"
#include "lines.hpp"
#include "model.hpp"
#include "report.hpp"
#include "runtime.hpp"
#include "sim/names.h"
#include "streams.hpp"

namespace sim {
namespace {

struct launch_state {
  std::unordered_map<std::uintptr_t, std::size_t> dynamic_shared_limits;  // by kernel, if the program set one
  std::string refused;  // the last refused launch, until the program asks for the error
  std::string last;     ///< why the program's last launch was refused; empty if it was not
  std::string failed;   ///< why the last failed launch failed
  std::mutex from_kernels_mutex;
  std::vector<std::function<void(cudaStream_t)>> from_kernels;  // launches made by the running kernel
  std::vector<launched> log;
  std::mutex log_mutex;  // protects additions to it
  std::atomic<const char*> running = nullptr;
};
launch_state& launches() {
  static auto* instance = new launch_state;  // never destroyed: may be needed for the report at exit
  return *instance;
}

}  // namespace

std::vector<launched>& launch_log() { return launches().log; }
void add_to_launch_log(launched entry) {
  const std::scoped_lock lock(launches().log_mutex);
  launches().log.push_back(std::move(entry));
}
void end_launch_log() { launches().log_mutex.lock(); }
const char* running_kernel() { return launches().running; }

cudaError_t set_kernel_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const std::scoped_lock lock(runtime_mutex());
  const device_description& d = described_device();
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || static_cast<std::size_t>(value) > d.shared_per_block_optin_bytes) return fail(cudaErrorInvalidValue);
  launches().dynamic_shared_limits[reinterpret_cast<std::uintptr_t>(kernel)] = static_cast<std::size_t>(value);
  return cudaSuccess;
}

std::size_t dynamic_shared_limit(std::uintptr_t kernel) {
  const auto& limits = launches().dynamic_shared_limits;
  if (const auto found = limits.find(kernel); found != limits.end()) return found->second;
  std::size_t most = default_shared_bytes;
  if (kernel == 0)  // unknown
    for (const auto& [address, limit] : limits) most = std::max(most, limit);
  return most;
}

namespace {

/// Records an impossible launch. CUDA reports it only to a program that checks the error.
void refuse_launch(const char* kernel, cudaError_t error, const std::string& why, const void* pc) {
  const source_line at = line_of(reinterpret_cast<std::uintptr_t>(pc));
  if (!launches().refused.empty()) note_host_fault(launches().refused);
  launches().failed =
      fmt::format("{}:{}: launch of {} failed with {}: {}", at.file, at.line, kernel, cudaGetErrorName(error), why);
  launches().last = launches().failed;
  launches().refused = launches().failed + "; its error was never checked: call cudaGetLastError() after the launch";
  fail(error);
}

std::string what_exceeds_the_limits(const configuration& c) {
  const auto threads = std::uint64_t{c.block.x} * c.block.y * c.block.z;
  if (threads == 0) return "a block needs at least one thread";
  if (threads > max_threads_per_block)
    return fmt::format("a block of {} threads exceeds the limit of {}", threads, max_threads_per_block);
  if (c.block.z > max_block_z)
    return fmt::format("a block has {} threads along z; the limit is {}", c.block.z, max_block_z);
  if (c.grid.x == 0 || c.grid.y == 0 || c.grid.z == 0) return "a grid needs at least one block; was there no work?";
  if (c.grid.x > max_grid_x) return fmt::format("a grid has {} blocks along x; the limit is {}", c.grid.x, max_grid_x);
  if (c.grid.y > max_grid_yz || c.grid.z > max_grid_yz)
    return fmt::format("a grid has {} blocks along y and {} along z; the limit for each is {}", c.grid.y, c.grid.z,
                       max_grid_yz);
  return "";
}
std::string what_is_wrong_with_clusters(const configuration& c) {
  const std::uint64_t blocks = std::uint64_t{c.cluster.x} * c.cluster.y * c.cluster.z;
  if (blocks == 1) return "";
  if (described_device().compute_major < 9)
    return fmt::format("{} has no thread-block clusters", described_device().name);
  if (blocks == 0 || blocks > 16) return fmt::format("a cluster of {} blocks; it must have 1 to 16", blocks);
  if (c.grid.x % c.cluster.x != 0 || c.grid.y % c.cluster.y != 0 || c.grid.z % c.cluster.z != 0)
    return fmt::format("a grid of {} x {} x {} blocks cannot be divided into clusters of {} x {} x {}", c.grid.x,
                       c.grid.y, c.grid.z, c.cluster.x, c.cluster.y, c.cluster.z);
  return "";
}

}  // namespace

std::string unchecked_launch() { return launches().refused; }
std::string refused_last_launch() { return launches().last; }
void forget_unchecked_launch() { launches().refused.clear(); }
std::string why_launch_failed() { return launches().failed; }
void forget_failed_launch() { launches().failed.clear(); }

namespace {

/// A launch that can be repeated or made later, in another stream.
std::function<void(cudaStream_t)> repeatable(const char* kernel, const configuration& config,
                                             void (*thread_body)(void*), const void* frame, std::size_t frame_bytes) {
  const auto* bytes = static_cast<const char*>(frame);
  return [=, name = std::string(kernel),
          copy = std::vector<char>(bytes, bytes + frame_bytes)](cudaStream_t stream) mutable {
    configuration again = config;
    again.stream = stream;
    launch(name.c_str(), again, thread_body, copy.data(), frame_bytes);
  };
}

void launch_from_host(const char* kernel, const configuration& config, void (*thread_body)(void*), void* frame,
                      std::size_t frame_bytes, const void* pc) {
  const std::scoped_lock lock(runtime_mutex());
  if (sticky_error() != cudaSuccess) {
    fail(sticky_error());
    return;
  }
  if (const std::string why = what_exceeds_the_limits(config); !why.empty())
    return refuse_launch(kernel, cudaErrorInvalidConfiguration, why, pc);
  if (const std::string why = what_is_wrong_with_clusters(config); !why.empty())
    return refuse_launch(kernel, cudaErrorInvalidClusterSize, why, pc);
  const std::uintptr_t address = kernel_behind(kernel, thread_body, frame);
  const limits_of_kernel limits = limits_of(address);
  if (const auto threads = config.block.x * config.block.y * config.block.z; threads > limits.threads) {
    if (limits.bounds > 0 && threads > limits.bounds)
      return refuse_launch(
          kernel, cudaErrorInvalidValue,
          fmt::format("a block of {} threads exceeds its __launch_bounds__({})", threads, limits.bounds), pc);
    return refuse_launch(
        kernel, cudaErrorLaunchOutOfResources,
        fmt::format("a block of {} threads with {} registers each exceeds a multiprocessor's {}: launch at most "
                    "{} threads, or declare __launch_bounds__({})",
                    threads, limits.registers, described_device().registers_per_sm, limits.by_registers, threads),
        pc);
  }
  const std::size_t limit = dynamic_shared_limit(address);
  if (config.dynamic_shared_bytes > limit)
    return refuse_launch(
        kernel, cudaErrorInvalidValue,
        fmt::format("{} bytes of dynamic shared memory exceed the {} allowed; cudaFuncSetAttribute with "
                    "cudaFuncAttributeMaxDynamicSharedMemorySize allows up to {}",
                    config.dynamic_shared_bytes, limit, described_device().shared_per_block_optin_bytes),
        pc);
  if (!is_stream(config.stream)) {
    fail(cudaErrorInvalidResourceHandle);
    return;
  }
  if (device_of(config.stream) != current_device())
    return refuse_launch(kernel, cudaErrorInvalidResourceHandle,
                         fmt::format("its stream is device {0}'s, but device {1} is current: call cudaSetDevice({0}) "
                                     "before the launch",
                                     device_of(config.stream), current_device()),
                         pc);
  if (is_capturing(config.stream)) {
    sim::record(config.stream, cudaGraphNodeTypeKernel, repeatable(kernel, config, thread_body, frame, frame_bytes));
    return;
  }
  launched record;
  record.kernel = kernel;
  record.function = address;
  record.config = config;
  record.device = current_device();
  record.registers = limits.registers;
  launches().running = kernel;
  launches().last.clear();
  const overlapping beside = launches_beside(config.stream, config.early);
  if (const launched* before = instead_of(record)) {
    record = *before;
    record.config = config;
    record.device = current_device();
    record.counts.faults.clear();
    record.recording = nullptr;
    record.blocks_run = 0;
    record.first_epoch = record.last_epoch = begin_epoch();
    note_partial_memory();
  } else {
    set_device_at_work(record.device);
    run_blocks(record, thread_body, frame, frame_bytes, beside);
  }
  launches().running = nullptr;
  if (const std::string why = what_is_wrong_with_clusters(record.config); !why.empty())  // the kernel may set it
    return refuse_launch(kernel, cudaErrorInvalidClusterSize, why, pc);
  if (record.static_shared_bytes > default_shared_bytes) {  // not known earlier
    const source_line at = line_of(reinterpret_cast<std::uintptr_t>(pc));
    launches().failed = fmt::format(
        "{}:{}: {} uses {} bytes of __shared__ arrays; nvcc compiles no kernel with more than {}: declare one array "
        "extern __shared__, and allow its size by cudaFuncSetAttribute",
        at.file, at.line, kernel, record.static_shared_bytes, default_shared_bytes);
    note_fault_of_call(launches().failed);
    fail(cudaErrorInvalidKernelImage);
  }
  end_kernel_frees();
  note_launch(config.stream, record.first_epoch, record.last_epoch);
  note_dependencies(config.stream, record);
  for (const auto& [begin, counts] : record.counts.allocations)
    check_stream_allocation(config.stream, begin, std::string("kernel ") + kernel);
  settle_reports(record);
  if (record.blocks_run != 0) record.modelled_seconds = std::max(model_seconds(record), count_links(record));
  // The next kernel does not start immediately after the previous one.
  const double begin = advance_clock(config.stream, record.modelled_seconds + launch_gap());
  if (record.blocks_run != 0) note_run(record);
  if (record.aborted) {
    cudaError_t error = record.counts.ran_away ? cudaErrorIllegalAddress : cudaErrorLaunchTimeout;
    launches().failed.clear();
    for (const auto& [key, report] : record.counts.faults) {
      launches().failed += (launches().failed.empty() ? "" : "; ") + describe(record, report);
      if (key.first == fault::illegal_address) error = cudaErrorIllegalAddress;
      if (key.first == fault::misaligned) error = cudaErrorMisalignedAddress;
      if (key.first == fault::assertion) error = cudaErrorAssert;
      if (key.first == fault::trap) error = cudaErrorLaunchFailure;
    }
    fail(error, true);
  }
  const double seconds = record.modelled_seconds;
  add_to_launch_log(std::move(record));
  tell({stream_work::kind::kernel, kernel, config.stream, begin, seconds, 0});
}

}  // namespace

/// A kernel's own launches run after it has ended, each with everything that it launches in turn: in CUDA, a kernel
/// cannot wait for its launches.
void launch(const char* kernel, const configuration& config, void (*thread_body)(void*), void* frame,
            std::size_t frame_bytes) {
  if (in_kernel()) {
    const std::scoped_lock lock(launches().from_kernels_mutex);
    launches().from_kernels.push_back(repeatable(kernel, config, thread_body, frame, frame_bytes));
    return;
  }
  report_at_exit();
  const api_call here("cudaLaunchKernel");
  launch_from_host(kernel, config, thread_body, frame, frame_bytes, __builtin_return_address(0));
  for (const auto& child : std::exchange(launches().from_kernels, {})) child(config.stream);
}

}  // namespace sim
