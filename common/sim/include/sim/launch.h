// The expansion of `kernel<<<grid, block, shared, stream>>>(arguments)`: SIM_KERNEL(kernel)(configure(...))(arguments),
// or the expansion of that macro.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sim/api.h"
#include "sim/call.h"

namespace sim {

struct configuration {
  dim3 grid, block;
  std::size_t dynamic_shared_bytes = 0;
  cudaStream_t stream = nullptr;
  bool cooperative = false;  ///< all blocks run at once, so that the grid can have barriers
  dim3 cluster = {1, 1, 1};  ///< blocks that run together and share their shared memory
  bool early = false;        ///< may begin before the previous kernel in its stream has ended
};
inline configuration configure(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes = 0,
                               cudaStream_t stream = nullptr) {
  return {grid, block, dynamic_shared_bytes, stream, false};
}

namespace types {
/// simcc replaces an argument NULL with this, which converts to any pointer, or to 0.
struct null {
  template <class T>
  constexpr operator T() const {
    return T();
  }
};

/// simcc replaces a literal 0 with this, which converts to anything that 0 converts to.
struct zero {
  template <class T>
  constexpr operator T() const {
    return 0;
  }
};
}  // namespace types
template <class T>
using zero_as_int = std::conditional_t<std::is_same_v<std::decay_t<T>, zero>, int, T>;

/// Runs `thread_body(frame)` once for each thread. `frame` holds the kernel's arguments in `frame_bytes` bytes. Errors
/// are those of a CUDA launch: read them with cudaGetLastError.
void launch(const char* kernel, const configuration& config, void (*thread_body)(void*), void* frame,
            std::size_t frame_bytes);

/// One launch's closure and arguments, stored together so that the device knows their addresses.
template <class Kernel, class... Arguments>
struct frame {
  Kernel kernel;
  std::tuple<Arguments...> arguments;
  SIM_QUIET static void run(void* self) { static_cast<frame*>(self)->call(std::index_sequence_for<Arguments...>()); }
  template <std::size_t... Index>
  SIM_QUIET void call(std::index_sequence<Index...>) {
    kernel(std::get<Index>(std::as_const(arguments))...);  // const: copied as bytes
  }
};

// CUDA copies an argument's bytes to the device. Copy constructors and destructors run on the host, around the launch,
// never in the kernel's threads.

/// A class with its own copy constructor or destructor. Such parameters are passed by address (Itanium C++ ABI).
template <class T>
constexpr bool passed_by_address =
    !std::is_trivially_destructible_v<T> ||
    (std::is_copy_constructible_v<T> ? !std::is_trivially_copy_constructible_v<T>
                                     : std::is_move_constructible_v<T> && !std::is_trivially_move_constructible_v<T>);
template <class T>
struct copied_bytes {
  alignas(T) char bytes[sizeof(T)];
  copied_bytes(const T& from) { __builtin_memcpy(bytes, static_cast<const void*>(&from), sizeof from); }
};
/// A reference remains a reference, to memory that both sides can access.
template <class T>
struct reference {
  std::remove_reference_t<T>* to;
  reference(std::remove_reference_t<T>& object) : to(&object) {}
  SIM_QUIET operator std::remove_reference_t<T>&() const { return *to; }
};
template <class T>
using kept =
    std::conditional_t<std::is_lvalue_reference_v<T>, reference<T>,
                       std::conditional_t<passed_by_address<T>, copied_bytes<std::decay_t<T>>, std::decay_t<T>>>;
/// A kernel with such parameters: each thread passes its own copy of the bytes.
template <class... Parameters>
struct kernel_of_bytes {
  void (*kernel)(std::conditional_t<passed_by_address<Parameters>, copied_bytes<Parameters>&, Parameters>...);
  explicit kernel_of_bytes(const void* address)
      : kernel(reinterpret_cast<decltype(kernel)>(const_cast<void*>(address))) {}
  SIM_QUIET void operator()(kept<Parameters>... arguments) const { kernel(arguments...); }
};

namespace types {
/// A kernel and its parameters, if its name alone determines them; excludes templates that deduce them.
template <class... Parameters>
struct parameters {
  void (*kernel)(Parameters...);
};
}  // namespace types
template <class Function>
struct parameters_in;
template <class... Parameters>
struct parameters_in<void(Parameters...)> {
  using type = parameters<Parameters...>;
};
template <class Function>
typename parameters_in<Function>::type parameters_of(int, Function*);
namespace types {
/// For a template or overloaded kernel: the one with exactly these parameters.
template <class... Parameters>
struct exactly {
  using kernel = void(Parameters...);
};
}  // namespace types
template <class... Parameters>
parameters<Parameters...> parameters_of(exactly<Parameters...>, typename exactly<Parameters...>::kernel*);

namespace types {
/// `signature`, if called, returns the kernel's parameters.
template <class Kernel, class Signature, class = void>
class configured_kernel {
 public:
  configured_kernel(const char* name, Kernel kernel, Signature signature, configuration config)
      : signature_(std::move(signature)), name_(name), kernel_(std::move(kernel)), config_(config) {}
  template <class... Arguments>
  void operator()(Arguments&&... arguments) && {
    using exact = exactly<std::decay_t<Arguments>...>;
    if constexpr (with_ints<Arguments...>())  // otherwise a literal 0 is a pointer
      std::move (*this)(static_cast<zero_as_int<Arguments>&&>(arguments)...);
    else if constexpr ((passed_by_address<std::decay_t<Arguments>> || ...) && std::is_invocable_v<Signature, exact>)
      [&](std::decay_t<Arguments>... copies) {
        launch_bytes(signature_(exact()), std::move(copies)...);
      }(std::forward<Arguments>(arguments)...);
    else
      launch_frame(std::forward<Arguments>(arguments)...);
  }

 protected:
  template <class... Parameters, class... Arguments>
  void launch_bytes(parameters<Parameters...> of, Arguments&&... arguments) {
    using frame_type = frame<kernel_of_bytes<Parameters...>, kept<Parameters>...>;
    frame_type f{kernel_of_bytes<Parameters...>(reinterpret_cast<const void*>(of.kernel)),
                 {std::forward<Arguments>(arguments)...}};
    launch(name_, config_, &frame_type::run, &f, sizeof f);
  }
  Signature signature_;

 private:
  /// Whether an argument is a literal 0 for a parameter that may be an int.
  template <class... Arguments>
  static constexpr bool with_ints() {
    if constexpr ((std::is_same_v<std::decay_t<Arguments>, zero> || ...))
      return std::is_invocable_v<Kernel, zero_as_int<Arguments>...>;
    return false;
  }
  template <class... Arguments>
  void launch_frame(Arguments&&... arguments) {
    using frame_type = frame<Kernel, std::decay_t<Arguments>...>;
    frame_type f{std::move(kernel_), {std::forward<Arguments>(arguments)...}};
    launch(name_, config_, &frame_type::run, &f, sizeof f);
  }
  const char* name_;
  Kernel kernel_;
  configuration config_;
};
/// Braced arguments take the parameter's type, and a literal 0 may be a null pointer. With fewer arguments than
/// parameters, the others have defaults; with more, the kernel is a template, and they determine its last parameters.
template <class Kernel, class Signature, class... Parameters>
struct configured_kernel<Kernel, Signature, parameters<Parameters...>> : configured_kernel<Kernel, Signature> {
  using base = configured_kernel<Kernel, Signature>;
  using base::base;
  void operator()(Parameters... arguments) && {
    if constexpr (((passed_by_address<Parameters> || std::is_lvalue_reference_v<Parameters>) || ...))
      this->launch_bytes(this->signature_(0), std::forward<Parameters>(arguments)...);
    else
      static_cast<base&&> (*this)(std::forward<Parameters>(arguments)...);
  }
  template <class... Other, class = std::enable_if_t<sizeof...(Other) != sizeof...(Parameters)>>
  void operator()(Other&&... arguments) && {
    static_cast<base&&> (*this)(std::forward<Other>(arguments)...);
  }
};

}  // namespace types

/// The return type of `Signature` called with an int; void if that is invalid.
template <class Signature, class = void>
struct signature_result {
  using type = void;
};
template <class Signature>
struct signature_result<Signature, std::enable_if_t<std::is_invocable_v<Signature, int>>> {
  using type = std::invoke_result_t<Signature, int>;
};

namespace types {
template <class Kernel, class Signature>
class named_kernel {
 public:
  named_kernel(const char* name, Kernel kernel, Signature signature)
      : name_(name), kernel_(std::move(kernel)), signature_(std::move(signature)) {}
  auto operator()(configuration config) && {
    return configured_kernel<Kernel, Signature, typename signature_result<Signature>::type>{
        name_, std::move(kernel_), std::move(signature_), config};
  }

 private:
  const char* name_;
  Kernel kernel_;
  Signature signature_;
};
}  // namespace types

template <class... Parameters>
auto kernel_value(const char* name, void (*kernel)(Parameters...)) {
  return named_kernel(
      name, [kernel](auto... arguments) SIM_QUIET { kernel(arguments...); },
      [kernel](auto) { return parameters<Parameters...>{kernel}; });
}

// ---- launches by address: cudaLaunchKernel takes a kernel as `const void*` and its arguments as pointers

/// A kernel and its arguments, ready to run any number of times; the caller destroys the frame.
struct bound_kernel {
  void (*thread_body)(void*) = nullptr;
  void* frame = nullptr;
  std::size_t frame_bytes = 0;
  void (*destroy)(void*) = nullptr;
};
using kernel_binder = bound_kernel (*)(const void* kernel, void** arguments);
void remember_kernel(const void* kernel, kernel_binder binder);

template <class... Parameters, std::size_t... Index>
bound_kernel bind_each(const void* kernel, [[maybe_unused]] void** arguments, std::index_sequence<Index...>) {
  using frame_type = frame<kernel_of_bytes<Parameters...>, kept<Parameters>...>;
  return {&frame_type::run,
          new frame_type{kernel_of_bytes<Parameters...>(kernel),
                         {*static_cast<std::decay_t<Parameters>*>(arguments[Index])...}},
          sizeof(frame_type), [](void* made) { delete static_cast<frame_type*>(made); }};
}
template <class... Parameters>
bound_kernel bind_kernel(const void* kernel, void** arguments) {
  return bind_each<Parameters...>(kernel, arguments, std::index_sequence_for<Parameters...>());
}
/// simcc wraps this around a kernel that is cast to void*, because the cast loses its parameter types.
template <class... Parameters>
void* kernel_address(void (*kernel)(Parameters...)) {
  void* address = reinterpret_cast<void*>(kernel);
  remember_kernel(address, &bind_kernel<Parameters...>);
  return address;
}
inline void* kernel_address(const void* other) { return const_cast<void*>(other); }
cudaError_t launch_by_address(const void* kernel, const configuration& config, void** arguments);

}  // namespace sim

template <class Kernel>
cudaError_t cudaLaunchKernel(Kernel* kernel, dim3 grid, dim3 block, void** arguments,
                             std::size_t dynamic_shared_bytes = 0, cudaStream_t stream = nullptr) {
  return sim::launch_by_address(sim::kernel_address(kernel), {grid, block, dynamic_shared_bytes, stream, false},
                                arguments);
}
template <class Kernel>
cudaError_t cudaLaunchCooperativeKernel(Kernel* kernel, dim3 grid, dim3 block, void** arguments,
                                        std::size_t dynamic_shared_bytes = 0, cudaStream_t stream = nullptr) {
  return sim::launch_by_address(sim::kernel_address(kernel), {grid, block, dynamic_shared_bytes, stream, true},
                                arguments);
}

enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeAccessPolicyWindow = 1,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeSynchronizationPolicy = 3,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeClusterSchedulingPolicyPreference = 5,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributePriority = 8,
};
enum cudaAccessProperty {
  cudaAccessPropertyNormal = 0,
  cudaAccessPropertyStreaming = 1,
  cudaAccessPropertyPersisting = 2,
};
struct cudaAccessPolicyWindow {
  void* base_ptr;
  std::size_t num_bytes;
  float hitRatio;
  cudaAccessProperty hitProp, missProp;
};
union cudaLaunchAttributeValue {
  char pad[64];
  cudaAccessPolicyWindow accessPolicyWindow;
  int cooperative;
  struct {
    unsigned x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
  int priority;
};
using cudaStreamAttrID = cudaLaunchAttributeID;
using cudaStreamAttrValue = cudaLaunchAttributeValue;
#define cudaStreamAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
#define cudaStreamAttributePriority cudaLaunchAttributePriority
#define cudaStreamAttributeSynchronizationPolicy cudaLaunchAttributeSynchronizationPolicy
extern "C" {
/// A hint for L2, which the time model ignores.
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID id, const cudaStreamAttrValue* value);
cudaError_t cudaCtxResetPersistingL2Cache();
}
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

namespace sim {
/// Applies the attributes of an extended launch; an error if the simulated device does not support one.
cudaError_t configure(const cudaLaunchConfig_t* extended, configuration* config);
}  // namespace sim

/// How many of the launch's clusters fit on the device at once, and the most blocks that a cluster can have.
template <class T>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, T* kernel, const cudaLaunchConfig_t* config) {
  sim::configuration c;
  if (!clusters) return cudaErrorInvalidValue;
  if (const cudaError_t error = sim::configure(config, &c)) return error;
  int blocks = 0, processors = 0;
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  if (const cudaError_t error =
          sim::occupancy(&blocks, reinterpret_cast<const void*>(kernel),
                         static_cast<int>(c.block.x * c.block.y * c.block.z), c.dynamic_shared_bytes))
    return error;
  *clusters = blocks * processors / static_cast<int>(c.cluster.x * c.cluster.y * c.cluster.z);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, T*, const cudaLaunchConfig_t* config) {
  if (!blocks || !config) return cudaErrorInvalidValue;
  *blocks = 8;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments);
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  return [&](std::decay_t<Parameters>... values) {
    void* pointers[sizeof...(Parameters) + 1] = {&values...};
    return cudaLaunchKernelExC(config, sim::kernel_address(kernel), pointers);
  }(std::forward<Arguments>(arguments)...);
}

// The text before <<< is the program's own and, with a macro, can be long: its accesses are observed, its basic blocks
// are not.
#define SIM_OF_LAUNCH __attribute__((SIM_UNCOUNTED))
// The name is an argument of a type-dependent call, which returns nothing unless it names exactly one function.
#define SIM_SIGNATURE(...) \
  [=](auto sim_any) -> decltype(::sim::parameters_of(sim_any, __VA_ARGS__)) { return {__VA_ARGS__}; }
#define SIM_KERNEL(...)                                                                          \
  ::sim::named_kernel(                                                                           \
      #__VA_ARGS__, [=](auto... sim_arguments) SIM_OF_LAUNCH { __VA_ARGS__(sim_arguments...); }, \
      SIM_SIGNATURE(__VA_ARGS__))
// The same for arguments that may match no kernel.
#define SIM_TRIED_KERNEL(...)                                                                                \
  ::sim::named_kernel(                                                                                       \
      #__VA_ARGS__,                                                                                          \
      [=](auto... sim_arguments)                                                                             \
          SIM_OF_LAUNCH -> decltype(void(__VA_ARGS__(sim_arguments...))) { __VA_ARGS__(sim_arguments...); }, \
      SIM_SIGNATURE(__VA_ARGS__))
// For an expression that gives a kernel: `table[i]`, `object->kernel`.
#define SIM_KERNEL_VALUE(...) ::sim::kernel_value(#__VA_ARGS__, __VA_ARGS__)
