// The program's ranges: who listens to them, and those that begin and end with separate calls, as NVTX's do.
#pragma once

#include <atomic>
#include <string_view>
#include <vector>

namespace sim {

/// Called for every range, in the range's thread. Must outlive the ranges that begin while it listens.
class range_listener {
 public:
  /// `flops`, `bytes`: the work that the range declares, or 0.
  virtual void enter(std::string_view name, double flops, double bytes) = 0;
  virtual void leave() = 0;

  inline static std::atomic<range_listener*> current{nullptr};

 protected:
  ~range_listener() = default;
};

namespace open_ranges {

/// The listener that was told of each open range of this thread.
inline std::vector<range_listener*>& stack() {
  static thread_local std::vector<range_listener*> open;
  return open;
}

/// Both return the depth; pop returns -1 if nothing was pushed.
inline int push(const char* name) {
  range_listener* const listener = range_listener::current;
  if (listener) listener->enter(name ? name : "", 0, 0);
  stack().push_back(listener);
  return static_cast<int>(stack().size()) - 1;
}
inline int pop() {
  if (stack().empty()) return -1;
  if (range_listener* const listener = stack().back()) listener->leave();
  stack().pop_back();
  return static_cast<int>(stack().size());
}

}  // namespace open_ranges
}  // namespace sim
