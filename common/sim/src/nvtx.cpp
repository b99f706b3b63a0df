// NVTX ranges of the program, as lab::range are: whoever listens to those hears of these too.
#include "nvtx3/nvToolsExt.h"

#include <vector>

#include "lab/range.hpp"

namespace sim {
namespace {
thread_local std::vector<lab::range_listener*> open;  // who heard of each that has not ended
}

int push_range(const char* name) {
  lab::range_listener* const listener = lab::range_listener::current;
  if (listener) listener->enter(name ? name : "", {});
  open.push_back(listener);
  return static_cast<int>(open.size()) - 1;
}
int pop_range() {
  if (open.empty()) return -1;
  if (open.back()) open.back()->leave();
  open.pop_back();
  return static_cast<int>(open.size());
}

}  // namespace sim
