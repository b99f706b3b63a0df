// The runtime API's errors, device and launches.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "internal.hpp"
#include "metrics.hpp"

namespace sim {
namespace {

constexpr std::size_t default_shared_bytes = std::size_t{48} * 1024;  // without cudaFuncSetAttribute

struct runtime_state {
  std::mutex mutex;
  cudaError_t last = cudaSuccess, sticky = cudaSuccess;
  std::unordered_map<std::uintptr_t, std::size_t> dynamic_shared_limits;  // by kernel, where it was set
  std::string refused_launch;  // the last one, until the program asks for the error
  std::size_t limits[7] = {1024, std::size_t{1} << 20, std::size_t{8} << 20, 2, 2048, 64, 0};  // as on a fresh H100
  unsigned device_flags = 0;
  std::vector<launched> log;
};

runtime_state& state() {
  static auto* instance = new runtime_state;  // outlives everything that may still report at exit
  return *instance;
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

// ---- launches -------------------------------------------------------------------------------------------------------

cudaError_t set_kernel_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const std::scoped_lock lock(runtime_mutex());
  const device_description& d = described_device();
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || static_cast<std::size_t>(value) > d.shared_per_block_optin_bytes) return fail(cudaErrorInvalidValue);
  state().dynamic_shared_limits[reinterpret_cast<std::uintptr_t>(kernel)] = static_cast<std::size_t>(value);
  return cudaSuccess;
}

std::size_t dynamic_shared_limit(std::uintptr_t kernel) {
  const auto& limits = state().dynamic_shared_limits;
  if (const auto found = limits.find(kernel); found != limits.end()) return found->second;
  std::size_t most = default_shared_bytes;
  if (kernel == 0)  // nobody knows which
    for (const auto& [address, limit] : limits) most = std::max(most, limit);
  return most;
}

namespace {

/// A launch that cannot be. CUDA says so only to those who ask.
void refuse_launch(const char* kernel, cudaError_t error, const std::string& why, const void* pc) {
  const source_line at = line_of(reinterpret_cast<std::uintptr_t>(pc));
  if (!state().refused_launch.empty()) note_host_fault(state().refused_launch);
  state().refused_launch =
      fmt::format("{}:{}: launch of {} failed with {}: {}; nobody asked: call cudaGetLastError() behind the launch",
                  at.file, at.line, kernel, cudaGetErrorName(error), why);
  fail(error);
}

std::string what_exceeds_the_limits(const configuration& c) {
  const auto threads = std::uint64_t{c.block.x} * c.block.y * c.block.z;
  if (threads == 0) return "a block needs at least one thread";
  if (threads > 1024) return fmt::format("a block of {} threads, and 1024 is the most", threads);
  if (c.block.z > 64) return fmt::format("a block with {} layers, and 64 is the most", c.block.z);
  if (c.grid.x == 0 || c.grid.y == 0 || c.grid.z == 0) return "a grid needs at least one block; was there no work?";
  if (c.grid.x > 0x7fffffffu) return fmt::format("a grid {} blocks wide, and 2147483647 is the most", c.grid.x);
  if (c.grid.y > 65535 || c.grid.z > 65535)
    return fmt::format("a grid of {} by {} rows and layers, and 65535 each is the most", c.grid.y, c.grid.z);
  return "";
}

}  // namespace

std::string unchecked_launch() { return state().refused_launch; }

void launch(const char* kernel, const configuration& config, void (*thread_body)(void*), void* frame,
            std::size_t frame_bytes) {
  report_at_exit();
  const std::scoped_lock lock(runtime_mutex());
  if (sticky_error() != cudaSuccess) {
    fail(sticky_error());
    return;
  }
  const void* pc = __builtin_return_address(0);
  if (const std::string why = what_exceeds_the_limits(config); !why.empty())
    return refuse_launch(kernel, cudaErrorInvalidConfiguration, why, pc);
  const std::uintptr_t address = kernel_behind(kernel, thread_body, frame);
  const std::size_t limit = dynamic_shared_limit(address);
  if (config.dynamic_shared_bytes > limit)
    return refuse_launch(
        kernel, cudaErrorInvalidValue,
        fmt::format("{} bytes of dynamic shared memory, and {} are allowed; cudaFuncSetAttribute with "
                    "cudaFuncAttributeMaxDynamicSharedMemorySize allows up to {}",
                    config.dynamic_shared_bytes, limit, described_device().shared_per_block_optin_bytes),
        pc);
  if (!is_stream(config.stream)) {
    fail(cudaErrorInvalidResourceHandle);
    return;
  }
  if (is_capturing(config.stream)) {
    const auto* bytes = static_cast<const char*>(frame);
    sim::record(config.stream, cudaGraphNodeTypeKernel,
                [=, name = std::string(kernel),
                 copy = std::vector<char>(bytes, bytes + frame_bytes)](cudaStream_t stream) mutable {
                  configuration again = config;
                  again.stream = stream;
                  launch(name.c_str(), again, thread_body, copy.data(), frame_bytes);
                });
    return;
  }
  launched record;
  record.kernel = kernel;
  record.config = config;
  record.registers = registers_of(address);
  run_blocks(record, thread_body, frame, frame_bytes, concurrent_launches(config.stream));
  note_launch(config.stream, record.first_epoch, record.last_epoch);
  settle_reports(record);
  record.modelled_seconds = model_seconds(record);
  // Behind a kernel the next one does not begin at once.
  const device_description& d = described_device();
  const double begin =
      advance_clock(config.stream, record.modelled_seconds + d.launch_seconds - d.kernel_floor_seconds);
  if (record.aborted) {
    cudaError_t error = cudaErrorLaunchTimeout;
    for (const auto& [key, report] : record.counts.faults) {
      if (key.first == fault::illegal_address) error = cudaErrorIllegalAddress;
      if (key.first == fault::misaligned) error = cudaErrorMisalignedAddress;
      if (key.first == fault::assertion) error = cudaErrorAssert;
      if (key.first == fault::trap) error = cudaErrorLaunchFailure;
    }
    fail(error, true);
  }
  const double seconds = record.modelled_seconds;
  state().log.push_back(std::move(record));
  tell({stream_work::kind::kernel, kernel, config.stream, begin, seconds, 0});
}

}  // namespace sim

// ---- the calls ------------------------------------------------------------------------------------------------------

using namespace sim;

extern "C" {

cudaError_t cudaGetLastError() {
  const std::scoped_lock lock(runtime_mutex());
  state().refused_launch.clear();
  return std::exchange(state().last, state().sticky);
}
cudaError_t cudaPeekAtLastError() {
  const std::scoped_lock lock(runtime_mutex());
  state().refused_launch.clear();
  return state().last;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define SIM_NAME(name, number, text) \
  case name: return #name;
    SIM_ERRORS(SIM_NAME)
#undef SIM_NAME
  }
  return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define SIM_TEXT(name, number, text) \
  case name: return text;
    SIM_ERRORS(SIM_TEXT)
#undef SIM_TEXT
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
cudaError_t cudaSetDevice(int device) {
  if (device != 0) return fail(cudaErrorInvalidDevice);
  start_workers();
  return sticky_error();
}

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
  p->memPitch = 0x7fffffff;
  p->textureAlignment = p->surfaceAlignment = 512;
  p->texturePitchAlignment = 32;
  for (int* yes : {&p->canMapHostMemory, &p->concurrentKernels, &p->unifiedAddressing, &p->streamPrioritiesSupported,
                   &p->globalL1CacheSupported, &p->localL1CacheSupported, &p->managedMemory,
                   &p->concurrentManagedAccess, &p->computePreemptionSupported, &p->canUseHostPointerForRegisteredMem,
                   &p->cooperativeLaunch, &p->hostRegisterSupported, &p->memoryPoolsSupported, &p->deviceOverlap})
    *yes = 1;
  p->asyncEngineCount = 3;
  p->clockRate = static_cast<int>(d.sm_clock_hertz / 1e3);
  // So that programs that work out the bandwidth, twice the clock times the width, get what a copy reaches.
  p->memoryBusWidth = 4096;
  p->memoryClockRate = static_cast<int>(d.copy_bytes_per_second / 2 / (p->memoryBusWidth / 8) / 1e3);
  p->singleToDoublePrecisionPerfRatio = 2;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  if (!value) return fail(cudaErrorInvalidValue);
  if (const cudaError_t error = cudaGetDeviceProperties(&p, device)) return error;
  switch (attribute) {
#define SIM_ATTRIBUTE(name, number, property) \
  case cudaDevAttr##name: *value = static_cast<int>(property); return cudaSuccess;
    SIM_DEVICE_ATTRIBUTES(SIM_ATTRIBUTE)
#undef SIM_ATTRIBUTE
  }
  return fail(cudaErrorInvalidValue);
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { return cudaGetDevice(device); }
cudaError_t cudaSetDeviceFlags(unsigned flags) {
  state().device_flags = flags;
  return sticky_error();
}
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  if (!flags) return fail(cudaErrorInvalidValue);
  *flags = state().device_flags;
  return sticky_error();
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  if (!id || length < 13 || device != 0) return fail(cudaErrorInvalidValue);
  std::snprintf(id, static_cast<std::size_t>(length), "0000:00:00.0");
  return sticky_error();
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!can || device != 0 || peer != 0) return fail(can ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  *can = 0;
  return sticky_error();
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return fail(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceDisablePeerAccess(int) { return fail(cudaErrorInvalidDevice); }

cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
  if (limit < cudaLimitStackSize || limit > cudaLimitPersistingL2CacheSize) return fail(cudaErrorUnsupportedLimit);
  state().limits[limit] = value;
  return sticky_error();
}
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
  if (limit < cudaLimitStackSize || limit > cudaLimitPersistingL2CacheSize) return fail(cudaErrorUnsupportedLimit);
  if (!value) return fail(cudaErrorInvalidValue);
  *value = state().limits[limit];
  return sticky_error();
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return sticky_error(); }
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  if (!config) return fail(cudaErrorInvalidValue);
  *config = cudaFuncCachePreferNone;
  return sticky_error();
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return sticky_error(); }
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  if (!config) return fail(cudaErrorInvalidValue);
  *config = cudaSharedMemBankSizeFourByte;
  return sticky_error();
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (!version) return fail(cudaErrorInvalidValue);
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

cudaError_t cudaDeviceReset() {
  const std::scoped_lock lock(runtime_mutex());
  free_everything();
  forget_streams();
  state().last = state().sticky = cudaSuccess;
  return cudaSuccess;
}

}  // extern "C"
