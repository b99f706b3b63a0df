// A name for a part of the program. Host code only; the same source serves the CPU, the simulated device and a GPU:
//
//   {
//     const lab::range here("layernorm", {.flops = 7.0 * n, .bytes = 8.0 * n});
//     layernorm<<<...>>>(...);
//   }
//
// Listeners receive the names: lab::profile (lab/profiler.hpp) or, as NVTX ranges on a GPU, the tool that runs the
// program. Otherwise a range costs one relaxed load.
#pragma once

#include <atomic>
#include <string_view>

#include "../../sim/interface/sim/ranges.hpp"
#include "lab/roofline.hpp"

namespace lab {

using sim::range_listener;

/// A named part of the program: appears in the profiler's table and, in a GPU build, as an NVTX range.
class range {
 public:
  /// `declared`: the floating-point operations and bytes that the algorithm requires here, inner ranges included.
  explicit range(std::string_view name, work declared = {})
      : listener_(range_listener::current.load(std::memory_order_relaxed)) {
    if (listener_) [[unlikely]]
      listener_->enter(name, declared.flops, declared.bytes);
  }
  ~range() {
    if (listener_) [[unlikely]]
      listener_->leave();
  }
  range(const range&) = delete;  // it ends with its scope
  range& operator=(const range&) = delete;

 private:
  range_listener* listener_;
};

}  // namespace lab
