// NVTX's C++ ranges.
#pragma once

#include <string>
#include <type_traits>

#include "nvtx3/nvToolsExt.h"

namespace nvtx3 {
class scoped_range {
 public:
  /// Uses the message as the name; ignores colours and payloads.
  template <class... Anything>
  explicit scoped_range(const Anything&... attributes) {
    std::string name;
    const auto take = [&](const auto& a) {
      if constexpr (std::is_convertible_v<decltype(a), std::string>) name = a;
    };
    (take(attributes), ...);
    nvtxRangePushA(name.c_str());
  }
  scoped_range(const scoped_range&) = delete;
  scoped_range& operator=(const scoped_range&) = delete;
  ~scoped_range() { nvtxRangePop(); }
};
template <class... Anything>
void mark(const Anything&...) {}
}  // namespace nvtx3
#define NVTX3_FUNC_RANGE() const ::nvtx3::scoped_range sim_range(__func__)
