// Records what this process's GPU did and when, with CUPTI's Activity API.
#pragma once

#include <cstddef>

#include "../profiler/recording.hpp"

namespace lab {

/// CUPTI writes records into buffers that we provide. If all are full it drops records and counts them.
struct timeline_buffers {
  std::size_t bytes = std::size_t{4} << 20, most = 256;
};

/// One per process, because CUPTI's callbacks are global.
class timeline {
 public:
  /// Throws if CUPTI refuses, usually because another tool uses it.
  static void start(timeline_buffers buffers = {});
  /// Assigns the calling thread's subsequent work to this segment; -1: to none.
  static void segment(int number);
  /// Waits until all work is done.
  static device_account stop();
};

}  // namespace lab
