// What the simulated device tells the staff's calls.cpp; a submission may not call it. It reports each memory access of
// host functions in .cu files: its compiler instruments those, too.
#pragma once

#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <string>

struct sim_host_watcher {
  virtual ~sim_host_watcher() = default;
  virtual void see(std::uintptr_t address, std::size_t bytes, bool store) = 0;
};

/// `who` receives this thread's accesses outside kernels, until it is set to null. Absent on a GPU.
extern "C" [[gnu::weak]] void sim_watch_host(sim_host_watcher* who);

/// Starts counting this call: calls.cpp has prepared its arguments. Absent on a GPU.
extern "C" [[gnu::weak]] void sim_count_from_here();

/// Makes grids begin with their last block: CUDA promises no order. Absent on a GPU.
extern "C" [[gnu::weak]] void sim_begin_with_last_block(bool yes);
/// Makes grids begin with every `step`-th block, starting at block 0; 1: in order.
extern "C" [[gnu::weak]] void sim_begin_with_every_block(std::size_t step);

/// Makes CUPTI deliver this record as its own: if its kind is enabled, and for a kernel once the host has waited for
/// the device. Absent on a GPU, and in a program that does not use CUPTI.
extern "C" [[gnu::weak]] void sim_add_activity(const void* record, std::size_t bytes);
/// Makes CUPTI return each buffer after this many records, although more would fit; 0: when it is full.
extern "C" [[gnu::weak]] void sim_limit_buffers(std::size_t records);
/// Makes CUPTI's Range Profiler count this, too, in the ranges that are open, in each pass.
extern "C" [[gnu::weak]] void sim_add_counter(const char* metric, double value);

/// Objects on the simulated device that the program has not yet freed or destroyed: calls.cpp compares before and
/// after.
struct sim_objects {
  std::size_t allocations, streams, events, graphs;
  std::size_t device_bytes;  ///< in allocations
};
extern "C" [[gnu::weak]] void sim_count_objects(sim_objects* now);

namespace lab {

inline sim_objects objects_now() {
  sim_objects now{};
  if (sim_count_objects) sim_count_objects(&now);
  return now;
}

/// "2 allocations, 1 stream": those created since `before`; "" if there are none.
inline std::string new_objects(const sim_objects& before) {
  const sim_objects now = objects_now();
  std::string text;
  const auto add = [&](std::size_t had, std::size_t has, const char* one) {
    if (has <= had) return;
    text += (text.empty() ? "" : ", ") + std::to_string(has - had) + " " + one + (has - had > 1 ? "s" : "");
  };
  add(before.allocations, now.allocations, "allocation");
  add(before.streams, now.streams, "stream");
  add(before.events, now.events, "event");
  add(before.graphs, now.graphs, "graph");
  return text;
}

/// Bytes from malloc that are not freed yet. Only glibc knows.
inline std::size_t bytes_allocated() {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
#else
  return 0;
#endif
}

}  // namespace lab
