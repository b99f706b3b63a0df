// What `kernel<<<grid, block, shared, stream>>>(arguments)` becomes: SIM_KERNEL(kernel)(configure(...))(arguments), or
// what that macro stands for.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sim/api.h"

namespace sim {

struct configuration {
  dim3 grid, block;
  std::size_t dynamic_shared_bytes = 0;
  cudaStream_t stream = nullptr;
};
inline configuration configure(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes = 0,
                               cudaStream_t stream = nullptr) {
  return {grid, block, dynamic_shared_bytes, stream};
}

/// Runs `thread_body(frame)` once for each thread. `frame` holds the kernel's arguments, `frame_bytes` long. Errors are
/// those of a CUDA launch: read them with cudaGetLastError.
void launch(const char* kernel, const configuration& config, void (*thread_body)(void*), void* frame,
            std::size_t frame_bytes);

/// One launch's closure and arguments, side by side so that the device knows their addresses.
template <class Kernel, class... Arguments>
struct frame {
  Kernel kernel;
  std::tuple<Arguments...> arguments;
  static void run(void* self) { static_cast<frame*>(self)->call(std::index_sequence_for<Arguments...>()); }
  template <std::size_t... I>
  void call(std::index_sequence<I...>) {
    kernel(std::get<I>(arguments)...);
  }
};

template <class Kernel>
class configured_kernel {
 public:
  configured_kernel(const char* name, Kernel kernel, configuration config)
      : name_(name), kernel_(std::move(kernel)), config_(config) {}
  template <class... Arguments>
  void operator()(Arguments&&... arguments) && {
    using frame_type = frame<Kernel, std::decay_t<Arguments>...>;
    frame_type f{std::move(kernel_), {std::forward<Arguments>(arguments)...}};
    launch(name_, config_, &frame_type::run, &f, sizeof f);
  }

 private:
  const char* name_;
  Kernel kernel_;
  configuration config_;
};

template <class Kernel>
class named_kernel {
 public:
  named_kernel(const char* name, Kernel kernel) : name_(name), kernel_(std::move(kernel)) {}
  configured_kernel<Kernel> operator()(configuration config) && { return {name_, std::move(kernel_), config}; }

 private:
  const char* name_;
  Kernel kernel_;
};

}  // namespace sim

#define SIM_KERNEL(...) ::sim::named_kernel(#__VA_ARGS__, [=](auto... sim_arguments) { __VA_ARGS__(sim_arguments...); })
// For an expression that gives a kernel: `table[i]`, `object->kernel`.
#define SIM_KERNEL_VALUE(...) \
  ::sim::named_kernel(#__VA_ARGS__, [sim_kernel = __VA_ARGS__](auto... sim_arguments) { sim_kernel(sim_arguments...); })
