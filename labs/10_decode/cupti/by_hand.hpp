// Lab 10, an optional part without points, for a machine with a GPU: what a profiler does, written by hand with CUPTI's
// Activity API. check.cpp compares it with the course's profiler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lab10 {

struct kernel_time {
  std::string name;                  ///< as CUPTI gives it
  std::uint64_t begin = 0, end = 0;  ///< nanoseconds, of CUPTI's clock
  int range = -1;                    ///< the range in which it was launched; -1 for none
};

/// Records the kernels that are launched from now on. Throws std::runtime_error, with CUPTI's own words, if CUPTI
/// refuses.
void start_recording();

/// What this thread launches from now on belongs to this range; ranges do not nest. A number of yours, at least 0.
void begin_range(int number);
void end_range();

/// Waits until all work is done and all records are here, and records no more. In the order in which the kernels began.
std::vector<kernel_time> stop_recording();

}  // namespace lab10
