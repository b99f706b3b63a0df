#include "nvtx3/nvToolsExt.h"

#include "sim/ranges.hpp"

namespace sim {

int push_range(const char* name) { return open_ranges::push(name); }
int pop_range() { return open_ranges::pop(); }

}  // namespace sim
