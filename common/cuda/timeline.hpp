// When this process's GPU did what, by CUPTI's Activity API.
#pragma once

#include <cstddef>

#include "profiler/recording.hpp"

namespace lab {

/// CUPTI keeps records in buffers that we give it. If all are full it drops records, which are counted.
struct timeline_buffers {
  std::size_t bytes = std::size_t{4} << 20, most = 256;
};

/// There is one in a process, as CUPTI's callbacks are.
class timeline {
 public:
  /// Throws if CUPTI refuses, above all if another tool has it.
  static void start(timeline_buffers buffers = {});
  /// What the calling thread asks for from now on belongs to this segment; -1: to none.
  static void segment(int number);
  /// Waits for all work.
  static device_account stop();
};

}  // namespace lab
