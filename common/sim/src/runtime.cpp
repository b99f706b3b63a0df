// The runtime API's errors and device.
#include "runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "calls.hpp"
#include "devices.hpp"
#include "faults.hpp"
#include "grid.hpp"
#include "heap.hpp"
#include "hooks.hpp"
#include "launches.hpp"
#include "lines.hpp"
#include "model.hpp"
#include "streams.hpp"

namespace sim {
namespace {

struct runtime_state {
  std::mutex mutex;
  cudaError_t sticky = cudaSuccess;
  std::size_t limits[7] = {1024, std::size_t{1} << 20, std::size_t{8} << 20, 2, 2048, 64, 0};  // as on a fresh H100
  unsigned device_flags = 0;
};

runtime_state& state() {
  static auto* instance = new runtime_state;  // never destroyed: may be needed for the report at exit
  return *instance;
}

/// Each host thread has its own.
thread_local cudaError_t last_error __asm__("sim_last_error") = cudaSuccess;

}  // namespace

std::mutex& runtime_mutex() {
  if (in_kernel())  // the launch holds the lock
    stop_kernel(fault::trap, nullptr, "this CUDA call is not simulated in a kernel; make it on the host");
  if (in_host_function()) {
    const std::scoped_lock lock(state().mutex);
    const source_line at = line_of(reinterpret_cast<std::uintptr_t>(call_of_program()));
    note_fault_of_call(
        fmt::format("{}:{}: a CUDA call in a host function of a stream may fail, or never return; let the "
                    "function set a flag, and make the call in a thread that waits for the flag",
                    at.file, at.line));
  }
  return state().mutex;
}
std::mutex& runtime_state_mutex() { return state().mutex; }
cudaError_t sticky_error() { return in_host_function() ? cudaErrorNotPermitted : state().sticky; }

cudaError_t fail(cudaError_t error, bool sticky) {
  if (error != cudaSuccess) last_error = error;
  if (error != cudaSuccess && call_listener) call_listener->fail_call(error);
  if (sticky) state().sticky = error;
  return error;
}

}  // namespace sim

// ---- the calls ------------------------------------------------------------------------------------------------------

using namespace sim;

extern "C" {

cudaError_t cudaGetLastError() {
  if (in_kernel()) return cudaSuccess;  // the state of the kernel's own launches
  const std::scoped_lock lock(runtime_mutex());
  if (in_host_function()) return sticky_error();
  forget_unchecked_launch();
  return std::exchange(last_error, state().sticky);
}
cudaError_t cudaPeekAtLastError() {
  if (in_kernel()) return cudaSuccess;  // as above
  const std::scoped_lock lock(runtime_mutex());
  forget_unchecked_launch();
  return sticky_error() != cudaSuccess ? sticky_error() : last_error;
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
  *count = device_count();
  return *count > 0 ? cudaSuccess : fail(cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int* device) {
  if (!device) return fail(cudaErrorInvalidValue);
  *device = current_device();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (!is_device(device)) return fail(cudaErrorInvalidDevice);
  set_current_device(device);
  start_workers();
  return sticky_error();
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (!p || !is_device(device)) return fail(p ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  const device_description& d = described_device();
  *p = {};
  std::snprintf(p->name, sizeof p->name, "%s (simulated)", d.name.c_str());
  p->totalGlobalMem = static_cast<std::size_t>(d.memory_bytes);
  p->sharedMemPerBlock = default_shared_bytes;
  p->regsPerBlock = p->regsPerMultiprocessor = d.registers_per_sm;
  p->warpSize = 32;
  p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = max_threads_per_block;
  p->maxThreadsDim[2] = max_block_z;
  p->maxGridSize[0] = max_grid_x;
  p->maxGridSize[1] = p->maxGridSize[2] = max_grid_yz;
  p->totalConstMem = std::size_t{64} * 1024;
  p->major = d.compute_major;
  p->minor = d.compute_minor;
  p->multiProcessorCount = d.multiprocessors;
  p->l2CacheSize = static_cast<int>(d.l2_bytes);
  p->maxThreadsPerMultiProcessor = d.max_threads_per_sm;
  p->maxBlocksPerMultiProcessor = d.max_blocks_per_sm;
  p->sharedMemPerMultiprocessor = d.shared_per_sm_bytes;
  p->sharedMemPerBlockOptin = d.shared_per_block_optin_bytes;
  p->reservedSharedMemPerBlock = d.shared_reserved_per_block_bytes;
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
  // Programs compute bandwidth as twice the clock rate times the bus width; the result should be a copy's rate.
  p->memoryBusWidth = 4096;
  p->memoryClockRate = static_cast<int>(d.copy_bytes_per_second / 2 / (p->memoryBusWidth / 8) / 1e3);
  p->singleToDoublePrecisionPerfRatio = 2;
  p->pciBusID = number_in_machine(device);
  p->uuid.bytes[0] = static_cast<char>(number_in_machine(device));
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
  if (!id || length < 13 || !is_device(device)) return fail(cudaErrorInvalidValue);
  std::snprintf(id, static_cast<std::size_t>(length), "0000:%02x:00.0", number_in_machine(device));
  return sticky_error();
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!can || !is_device(device) || !is_device(peer)) return fail(can ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  *can = are_linked(device, peer);
  return sticky_error();
}
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device, int peer) {
  if (!value) return fail(cudaErrorInvalidValue);
  if (!is_device(device) || !is_device(peer) || device == peer) return fail(cudaErrorInvalidDevice);
  if (attribute < cudaDevP2PAttrPerformanceRank || attribute > cudaDevP2PAttrCudaArrayAccessSupported)
    return fail(cudaErrorInvalidValue);
  *value = attribute != cudaDevP2PAttrPerformanceRank && are_linked(device, peer);  // rank 0: the best
  return sticky_error();
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  const std::scoped_lock lock(runtime_mutex());
  const int device = current_device();
  if (flags != 0) return fail(cudaErrorInvalidValue);
  if (!is_device(peer) || peer == device) return fail(cudaErrorInvalidDevice);
  if (!are_linked(device, peer)) return fail(cudaErrorPeerAccessUnsupported);
  if (has_peer_access(device, peer)) return fail(cudaErrorPeerAccessAlreadyEnabled);
  set_peer_access(device, peer, true);
  return sticky_error();
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  const std::scoped_lock lock(runtime_mutex());
  const int device = current_device();
  if (!is_device(peer) || peer == device) return fail(cudaErrorInvalidDevice);
  if (!has_peer_access(device, peer)) return fail(cudaErrorPeerAccessNotEnabled);
  set_peer_access(device, peer, false);
  return sticky_error();
}

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
  free_everything(current_device());
  forget_streams(current_device());
  for (int other = 0; other < device_count(); ++other) set_peer_access(current_device(), other, false);
  last_error = state().sticky = cudaSuccess;
  return cudaSuccess;
}

}  // extern "C"
