// Kernels known by address: launches without <<<>>>, their attributes, and how many blocks fit on a multiprocessor.
#include "kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "faults.hpp"
#include "hooks.hpp"
#include "launches.hpp"
#include "model.hpp"
#include "program.hpp"
#include "runtime.hpp"

namespace sim {
namespace {

std::unordered_map<const void*, kernel_binder>& binders() {
  static auto* table = new std::unordered_map<const void*, kernel_binder>;  // filled before main, too
  return *table;
}

}  // namespace

void remember_kernel(const void* kernel, kernel_binder binder) {
  const std::scoped_lock lock(runtime_mutex());
  binders()[kernel] = binder;
}

std::shared_ptr<const bound_kernel> bind_by_address(const void* kernel, void** arguments) {
  const std::scoped_lock lock(runtime_mutex());
  const auto found = binders().find(kernel);
  if (found == binders().end()) {
    note_host_fault(fmt::format(
        "a kernel was launched by its address alone ({}), which does not say what arguments it takes: write "
        "(void*)kernel in the "
        "file that defines the kernel, or launch it by kernel<<<grid, block>>>(arguments)",
        kernel_name(kernel)));
    fail(cudaErrorInvalidDeviceFunction);
    return {};
  }
  return {new bound_kernel(found->second(kernel, arguments)), [](bound_kernel* bound) {
            bound->destroy(bound->frame);
            delete bound;
          }};
}

/// Strips return type and parameters: "void ns::sum<4>(float*, int)" becomes ns::sum<4>.
std::string kernel_name(const void* kernel) {
  std::string name = function_name(reinterpret_cast<std::uintptr_t>(kernel));
  if (name.empty()) return fmt::format("{}", kernel);
  int depth = 0;
  std::size_t end = name.size();
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) {
      end = i;
      break;
    }
  }
  name.resize(end);
  if (name.starts_with("void ")) name.erase(0, 5);
  return name;
}

cudaError_t launch_by_address(const void* kernel, const configuration& config, void** arguments) {
  const auto bound = bind_by_address(kernel, arguments);
  if (!bound) return cudaErrorInvalidDeviceFunction;
  if (config.cooperative) {
    int resident = 0;
    const int threads = static_cast<int>(config.block.x * config.block.y * config.block.z);
    if (const cudaError_t error = occupancy(&resident, kernel, threads, config.dynamic_shared_bytes)) return error;
    const std::uint64_t blocks = std::uint64_t{config.grid.x} * config.grid.y * config.grid.z;
    if (blocks > static_cast<std::uint64_t>(resident) * static_cast<unsigned>(described_device().multiprocessors)) {
      const std::scoped_lock lock(runtime_mutex());
      return fail(cudaErrorCooperativeLaunchTooLarge);
    }
  }
  const cudaError_t before = cudaPeekAtLastError();
  launch(kernel_name(kernel).c_str(), config, bound->thread_body, bound->frame, bound->frame_bytes);
  const cudaError_t after = cudaPeekAtLastError();
  return after == before ? cudaSuccess : after;
}

cudaError_t configure(const cudaLaunchConfig_t* extended, configuration* config) {
  if (!extended) return fail(cudaErrorInvalidValue);
  *config = {extended->gridDim, extended->blockDim, extended->dynamicSmemBytes, extended->stream, false};
  for (unsigned i = 0; i < extended->numAttrs; ++i) {
    const cudaLaunchAttribute& a = extended->attrs[i];
    if (a.id == cudaLaunchAttributeCooperative) config->cooperative = a.val.cooperative != 0;
    if (a.id == cudaLaunchAttributeProgrammaticStreamSerialization)
      config->early = a.val.programmaticStreamSerializationAllowed != 0;
    if (a.id == cudaLaunchAttributeClusterDimension)
      config->cluster = {a.val.clusterDim.x, a.val.clusterDim.y, a.val.clusterDim.z};
  }
  return cudaSuccess;
}

/// The kernel's name as part of its local variables' names: with parameters, without a template's return type.
std::string scope_of(std::uintptr_t kernel) {
  std::string name = function_name(kernel);
  if (name.starts_with("void ")) name.erase(0, 5);
  return name;
}

limits_of_kernel limits_of(std::uintptr_t kernel) {
  static auto* known = new std::unordered_map<std::uintptr_t, limits_of_kernel>;  // under runtime_mutex
  const auto [at, added] = known->try_emplace(kernel);
  limits_of_kernel& limits = at->second;
  if (!added) return limits;
  limits.registers = registers_of(kernel);
  limits.bounds = launch_bounds_in(scope_of(kernel));
  const unsigned most = limits.bounds > 0 ? std::min(limits.bounds, max_threads_per_block) : max_threads_per_block;
  for (unsigned threads = max_threads_per_block; limits.by_registers == 0 && threads > 0; threads -= 32)
    if (occupancy_of(static_cast<int>(threads), limits.registers, 0).by_registers > 0) limits.by_registers = threads;
  limits.threads = std::min(most, limits.by_registers);
  return limits;
}

/// The bytes of the arrays that the kernel itself declares: their names begin with its own. Known before its first
/// launch, because a program may ask how many blocks fit, and launch as many.
std::size_t shared_bytes_declared_in(const void* kernel) {
  static auto* known = new std::unordered_map<const void*, std::size_t>;  // under runtime_mutex
  const auto [at, added] = known->try_emplace(kernel);
  if (!added) return at->second;
  const std::string scope = scope_of(reinterpret_cast<std::uintptr_t>(kernel));
  if (scope.empty()) return 0;
  const std::string name = scope + "::";
  for (const shared_array& a : shared_arrays())
    if (!a.dynamic && !a.guard && a.name.starts_with(name)) at->second += a.bytes;
  return at->second;
}

cudaError_t kernel_attributes(cudaFuncAttributes* attributes, const void* kernel) {
  const std::scoped_lock lock(runtime_mutex());
  if (!attributes || !kernel) return fail(attributes ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue);
  const device_description& d = described_device();
  *attributes = {};
  const limits_of_kernel limits = limits_of(reinterpret_cast<std::uintptr_t>(kernel));
  attributes->maxThreadsPerBlock = static_cast<int>(limits.threads);
  attributes->numRegs = limits.registers;
  attributes->ptxVersion = attributes->binaryVersion = d.compute_major * 10 + d.compute_minor;
  attributes->maxDynamicSharedSizeBytes =
      static_cast<int>(dynamic_shared_limit(reinterpret_cast<std::uintptr_t>(kernel)));
  attributes->preferredShmemCarveout = -1;
  attributes->sharedSizeBytes = shared_bytes_declared_in(kernel);
  const std::string name = kernel_name(kernel);
  for (const launched& l : launch_log())  // arrays of functions that it calls are known only after it has run
    if (l.kernel == name)
      attributes->sharedSizeBytes = std::max<std::size_t>(attributes->sharedSizeBytes, l.static_shared_bytes);
  return sticky_error();
}

cudaError_t occupancy(int* blocks, const void* kernel, int threads, std::size_t dynamic_shared_bytes) {
  if (!blocks || threads <= 0) return fail(cudaErrorInvalidValue);
  *blocks = 0;
  if (threads > static_cast<int>(max_threads_per_block) ||
      dynamic_shared_bytes > described_device().shared_per_block_optin_bytes)
    return cudaSuccess;
  cudaFuncAttributes attributes;
  if (const cudaError_t error = kernel_attributes(&attributes, kernel)) return error;
  *blocks = occupancy_of(threads, attributes.numRegs, attributes.sharedSizeBytes + dynamic_shared_bytes).blocks();
  return sticky_error();
}

// ptxas's output, noted by simcc; the kernel's address is relative to the field.
struct kernel_registers {
  std::int32_t kernel, registers;
};
extern "C" const kernel_registers __start_sim_registers[] __attribute__((weak));
extern "C" const kernel_registers __stop_sim_registers[] __attribute__((weak));

int registers_of(std::uintptr_t kernel) {
  constexpr int guess = 32;  // the largest with which 2048 threads fit into 65536 registers
  constexpr int least = 16;  // Nsight Compute shows this for kernels that use fewer
  for (const kernel_registers* r = __start_sim_registers; r != __stop_sim_registers; ++r)
    if (reinterpret_cast<std::uintptr_t>(&r->kernel) + static_cast<std::uintptr_t>(r->kernel) == kernel)
      return std::max<int>(r->registers, least);
  return guess;
}

std::uintptr_t kernel_behind(const char* name, void (*body)(void*), void* frame) {
  // The first code to run may be an argument's copy constructor instead of the kernel; then its name differs.
  static auto* names = new std::unordered_map<std::uintptr_t, std::string>;  // under runtime_mutex
  const auto identifier = [](std::string text) {
    text.resize(std::min(text.find('<'), text.size()));
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text.substr(text.find_last_of(": &*") + 1);
  };
  const std::uintptr_t address = function_at(ask_for_kernel(body, frame));
  const auto [entry, fresh] = names->try_emplace(address);
  if (fresh && address != 0) {
    std::string known = kernel_name(reinterpret_cast<const void*>(address));
    for (std::size_t at; (at = known.find("(anonymous namespace)")) != std::string::npos;) known.replace(at, 21, "_");
    entry->second = identifier(known);
  }
  return entry->second == identifier(name) ? address : 0;
}

}  // namespace sim

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
  sim::configuration plain;
  if (const cudaError_t error = sim::configure(config, &plain)) return error;
  return sim::launch_by_address(kernel, plain, arguments);
}
