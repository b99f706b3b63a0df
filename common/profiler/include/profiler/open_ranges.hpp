// Reports ranges that begin and end with separate calls, such as NVTX's, to the listeners of lab::range.
#pragma once

#include <vector>

#include "lab/range.hpp"

namespace lab::open_ranges {

/// The listener that was told of each open range of this thread.
inline std::vector<range_listener*>& stack() {
  static thread_local std::vector<range_listener*> open;
  return open;
}

/// Both return the depth; pop returns -1 if nothing was pushed.
inline int push(const char* name) {
  range_listener* const listener = range_listener::current;
  if (listener) listener->enter(name ? name : "", {});
  stack().push_back(listener);
  return static_cast<int>(stack().size()) - 1;
}
inline int pop() {
  if (stack().empty()) return -1;
  if (range_listener* const listener = stack().back()) listener->leave();
  stack().pop_back();
  return static_cast<int>(stack().size());
}

}  // namespace lab::open_ranges
