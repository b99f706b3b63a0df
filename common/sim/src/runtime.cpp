// The runtime API but for memory: errors, device, launches, and streams and events on the modelled clock.
#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "internal.hpp"
#include "metrics.hpp"

// Modelled seconds since the program began. A stream's work ends at `busy_until`; the host is at `host_now`.
struct sim_stream {
  double busy_until = 0;
};
struct sim_event {
  double at = -1;
};

namespace sim {
namespace {

constexpr std::size_t default_shared_bytes = std::size_t{48} * 1024;  // without cudaFuncSetAttribute

struct runtime_state {
  std::mutex mutex;
  cudaError_t last = cudaSuccess, sticky = cudaSuccess;
  double host_now = 0;
  sim_stream default_stream;
  std::vector<sim_stream*> streams;
  std::size_t dynamic_shared_limit = default_shared_bytes;
  std::vector<launched> log;
};

runtime_state& state() {
  static auto* instance = new runtime_state;  // outlives everything that may still report at exit
  return *instance;
}

sim_stream& of(cudaStream_t stream) { return stream ? *stream : state().default_stream; }

void wait_for(double time) { state().host_now = std::max(state().host_now, time); }

void wait_for_all() {
  wait_for(state().default_stream.busy_until);
  for (const sim_stream* s : state().streams) wait_for(s->busy_until);
}

device_description read_description() {
  const char* wanted = std::getenv("SIM_DEVICE");
  const std::string path = fmt::format("{}/{}.toml", SIM_DEVICES_DIR, wanted ? wanted : "h200");
  try {
    const toml::table t = toml::parse_file(path);
    const auto number = [&](const char* key) {
      const auto value = t[key].value<double>();
      if (!value) throw std::runtime_error(fmt::format("'{}' is missing", key));
      return *value;
    };
    device_description d;
    d.name = t["name"].value_or(std::string("?"));
    d.compute_major = t["compute_capability"][0].value_or(0);
    d.compute_minor = t["compute_capability"][1].value_or(0);
    d.multiprocessors = static_cast<int>(number("multiprocessors"));
    d.sm_clock_hertz = number("sm_clock_hertz");
    d.memory_bytes = number("memory_bytes");
    d.l2_bytes = number("l2_bytes");
    d.copy_bytes_per_second = number("copy_bytes_per_second");
    d.l2_bytes_per_second = number("l2_bytes_per_second");
    d.fp32_flops_per_second = number("fp32_flops_per_second");
    d.host_copy_bytes_per_second = number("host_copy_bytes_per_second");
    d.launch_seconds = number("launch_seconds");
    d.max_threads_per_sm = static_cast<int>(number("max_threads_per_sm"));
    d.max_blocks_per_sm = static_cast<int>(number("max_blocks_per_sm"));
    d.shared_per_sm_bytes = static_cast<std::size_t>(number("shared_per_sm_bytes"));
    d.shared_per_block_optin_bytes = static_cast<std::size_t>(number("shared_per_block_optin_bytes"));
    return d;
  } catch (const std::exception& e) {
    fmt::print(stderr, "simulated device: {}: {}\nSet SIM_DEVICE to the name of a file in {} (h200).\n", path, e.what(),
               SIM_DEVICES_DIR);
    std::exit(2);
  }
}

}  // namespace

std::mutex& runtime_mutex() { return state().mutex; }
cudaError_t sticky_error() { return state().sticky; }
std::vector<launched>& launch_log() { return state().log; }

cudaError_t fail(cudaError_t error, bool sticky) {
  if (error != cudaSuccess) state().last = error;
  if (sticky) state().sticky = error;
  return error;
}

const device_description& described_device() {
  static const device_description d = read_description();
  return d;
}

void advance_clock(cudaStream_t stream, double seconds) {
  sim_stream& s = of(stream);
  s.busy_until = std::max(s.busy_until, state().host_now) + seconds;
}

// ---- the model
// ----------------------------------------------------------------------------------------------------------

double model_seconds(const launched& what) {
  const device_description& d = described_device();
  std::uint64_t sectors = 0, wavefronts = 0;
  for (const auto& [key, counts] : what.counts.sites) {
    sectors += counts.sectors;
    wavefronts += counts.wavefronts;
  }
  // A multiprocessor moves 128 bytes a cycle between its registers and L1 or shared memory.
  const double blocks = static_cast<double>(what.config.grid.x) * what.config.grid.y * what.config.grid.z;
  const double units = std::min<double>(blocks, d.multiprocessors);
  const double lsu = (static_cast<double>(sectors) / 4 + static_cast<double>(wavefronts)) / (units * d.sm_clock_hertz);
  const double l2 = static_cast<double>(sectors) * sector_bytes / d.l2_bytes_per_second;
  const double dram = static_cast<double>(what.counts.unique_loaded_sectors + what.counts.unique_stored_sectors) *
                      sector_bytes / d.copy_bytes_per_second;
  return d.launch_seconds + std::max({dram, l2, lsu});
}

// ---- launches
// -----------------------------------------------------------------------------------------------------------

cudaError_t set_kernel_attribute(const void*, cudaFuncAttribute attribute, int value) {
  const std::scoped_lock lock(runtime_mutex());
  const device_description& d = described_device();
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || static_cast<std::size_t>(value) > d.shared_per_block_optin_bytes) return fail(cudaErrorInvalidValue);
  // For all kernels: a launch knows its kernel by the closure around it, not by this address.
  state().dynamic_shared_limit = std::max(state().dynamic_shared_limit, static_cast<std::size_t>(value));
  return cudaSuccess;
}

void launch(const char* kernel, const configuration& config, void (*thread_body)(void*), void* frame,
            std::size_t frame_bytes) {
  static const bool registered = (report_at_exit(), csv_at_exit(), true);
  static_cast<void>(registered);
  const std::scoped_lock lock(runtime_mutex());
  if (sticky_error() != cudaSuccess) {
    fail(sticky_error());
    return;
  }
  const auto threads = std::uint64_t{config.block.x} * config.block.y * config.block.z;
  const auto blocks = std::uint64_t{config.grid.x} * config.grid.y * config.grid.z;
  if (threads == 0 || threads > 1024 || config.block.z > 64 || blocks == 0 || config.grid.x > 0x7fffffffu ||
      config.grid.y > 65535 || config.grid.z > 65535) {
    fail(cudaErrorInvalidConfiguration);
    return;
  }
  if (config.dynamic_shared_bytes > state().dynamic_shared_limit) {
    fail(cudaErrorInvalidValue);
    return;
  }
  launched record;
  record.kernel = kernel;
  record.config = config;
  run_blocks(record, thread_body, frame, frame_bytes);
  record.modelled_seconds = model_seconds(record);
  advance_clock(config.stream, record.modelled_seconds);
  if (record.aborted) {
    cudaError_t error = cudaErrorLaunchTimeout;
    for (const auto& [key, report] : record.counts.faults) {
      if (key.first == fault::illegal_address) error = cudaErrorIllegalAddress;
      if (key.first == fault::misaligned) error = cudaErrorMisalignedAddress;
    }
    fail(error, true);
  }
  state().log.push_back(std::move(record));
}

}  // namespace sim

// ---- the calls
// ------------------------------------------------------------------------------------------------------------

using namespace sim;

extern "C" {

cudaError_t cudaGetLastError() {
  const std::scoped_lock lock(runtime_mutex());
  return std::exchange(state().last, state().sticky);
}
cudaError_t cudaPeekAtLastError() {
  const std::scoped_lock lock(runtime_mutex());
  return state().last;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define SIM_NAME(name) \
  case name: return #name;
    SIM_NAME(cudaSuccess)
    SIM_NAME(cudaErrorInvalidValue)
    SIM_NAME(cudaErrorMemoryAllocation)
    SIM_NAME(cudaErrorInitializationError)
    SIM_NAME(cudaErrorInvalidConfiguration)
    SIM_NAME(cudaErrorInvalidSymbol)
    SIM_NAME(cudaErrorInvalidDevicePointer)
    SIM_NAME(cudaErrorInvalidMemcpyDirection)
    SIM_NAME(cudaErrorNoDevice)
    SIM_NAME(cudaErrorInvalidDevice)
    SIM_NAME(cudaErrorInvalidResourceHandle)
    SIM_NAME(cudaErrorNotReady)
    SIM_NAME(cudaErrorIllegalAddress)
    SIM_NAME(cudaErrorLaunchTimeout)
    SIM_NAME(cudaErrorMisalignedAddress)
    SIM_NAME(cudaErrorLaunchFailure)
    SIM_NAME(cudaErrorNotSupported)
    SIM_NAME(cudaErrorUnknown)
#undef SIM_NAME
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInitializationError: return "initialization error";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument: a block has 1 to 1024 threads, a grid at "
             "least one block";
    case cudaErrorInvalidSymbol: return "invalid device symbol";
    case cudaErrorInvalidDevicePointer: return "invalid device pointer";
    case cudaErrorInvalidMemcpyDirection: return "invalid copy direction for memcpy";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorLaunchTimeout: return "the launch timed out: threads wait for others that never come";
    case cudaErrorMisalignedAddress: return "misaligned address";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorNotSupported: return "operation not supported by the simulated device";
    case cudaErrorUnknown: return "unknown error";
  }
  return "unrecognized error code";
}

cudaError_t cudaGetDeviceCount(int* count) {
  if (!count) return fail(cudaErrorInvalidValue);
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  if (!device) return fail(cudaErrorInvalidValue);
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device == 0 ? sticky_error() : fail(cudaErrorInvalidDevice); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (!p || device != 0) return fail(p ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  const device_description& d = described_device();
  *p = {};
  std::snprintf(p->name, sizeof p->name, "%s (simulated)", d.name.c_str());
  p->totalGlobalMem = static_cast<std::size_t>(d.memory_bytes);
  p->sharedMemPerBlock = default_shared_bytes;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->totalConstMem = std::size_t{64} * 1024;
  p->major = d.compute_major;
  p->minor = d.compute_minor;
  p->multiProcessorCount = d.multiprocessors;
  p->l2CacheSize = static_cast<int>(d.l2_bytes);
  p->maxThreadsPerMultiProcessor = d.max_threads_per_sm;
  p->maxBlocksPerMultiProcessor = d.max_blocks_per_sm;
  p->sharedMemPerMultiprocessor = d.shared_per_sm_bytes;
  p->sharedMemPerBlockOptin = d.shared_per_block_optin_bytes;
  p->reservedSharedMemPerBlock = 1024;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (!value || device != 0) return fail(cudaErrorInvalidValue);
  const device_description& d = described_device();
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(default_shared_bytes); break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrClockRate: *value = static_cast<int>(d.sm_clock_hertz / 1e3); break;
    case cudaDevAttrMultiProcessorCount: *value = d.multiprocessors; break;
    case cudaDevAttrL2CacheSize: *value = static_cast<int>(d.l2_bytes); break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = d.max_threads_per_sm; break;
    case cudaDevAttrComputeCapabilityMajor: *value = d.compute_major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = d.compute_minor; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = static_cast<int>(d.shared_per_sm_bytes); break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(d.shared_per_block_optin_bytes); break;
    default: return fail(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (!version) return fail(cudaErrorInvalidValue);
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

cudaError_t cudaDeviceSynchronize() {
  const std::scoped_lock lock(runtime_mutex());
  wait_for_all();
  return fail(sticky_error());
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const std::scoped_lock lock(runtime_mutex());
  if (!stream) return fail(cudaErrorInvalidValue);
  *stream = new sim_stream;
  state().streams.push_back(*stream);
  return sticky_error();
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::scoped_lock lock(runtime_mutex());
  auto& all = state().streams;
  const auto found = std::find(all.begin(), all.end(), stream);
  if (found == all.end()) return fail(cudaErrorInvalidResourceHandle);
  all.erase(found);
  delete stream;
  return sticky_error();
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::scoped_lock lock(runtime_mutex());
  wait_for(of(stream).busy_until);
  return fail(sticky_error());
}
cudaError_t cudaStreamQuery(cudaStream_t) { return sticky_error(); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::scoped_lock lock(runtime_mutex());
  if (!event) return fail(cudaErrorInvalidResourceHandle);
  of(stream).busy_until = std::max(of(stream).busy_until, event->at);
  return sticky_error();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (!event) return fail(cudaErrorInvalidValue);
  *event = new sim_event;
  return sticky_error();
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return sticky_error();
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::scoped_lock lock(runtime_mutex());
  if (!event) return fail(cudaErrorInvalidResourceHandle);
  event->at = std::max(of(stream).busy_until, state().host_now);
  return sticky_error();
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::scoped_lock lock(runtime_mutex());
  if (!event) return fail(cudaErrorInvalidResourceHandle);
  wait_for(event->at);
  return fail(sticky_error());
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return event ? sticky_error() : fail(cudaErrorInvalidResourceHandle); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  if (!milliseconds || !start || !stop) return fail(cudaErrorInvalidResourceHandle);
  if (start->at < 0 || stop->at < 0) return fail(cudaErrorInvalidResourceHandle);
  *milliseconds = static_cast<float>((stop->at - start->at) * 1e3);
  return sticky_error();
}

}  // extern "C"

namespace sim {
void free_everything();
}

extern "C" cudaError_t cudaDeviceReset() {
  const std::scoped_lock lock(runtime_mutex());
  free_everything();
  state().last = state().sticky = cudaSuccess;
  return cudaSuccess;
}
