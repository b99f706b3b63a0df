#include "nvtx3/nvToolsExt.h"

#include "profiler/open_ranges.hpp"

namespace sim {

int push_range(const char* name) { return lab::open_ranges::push(name); }
int pop_range() { return lab::open_ranges::pop(); }

}  // namespace sim
