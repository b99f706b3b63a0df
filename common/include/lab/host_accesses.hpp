// What the simulated device tells the staff's calls.cpp; a submission may not call it. The accesses of host functions
// in .cu files, one by one: its compiler puts a hook at each access to memory, in host functions too.
#pragma once

#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <string>

struct sim_host_watcher {
  virtual ~sim_host_watcher() = default;
  virtual void see(std::uintptr_t address, std::size_t bytes, bool store) = 0;
};

/// `who` sees the accesses of this thread outside of kernels, until it is null again. Absent on a GPU.
extern "C" [[gnu::weak]] void sim_watch_host(sim_host_watcher* who);

/// What the simulated device counts of this call begins here: calls.cpp has prepared its arguments. Absent on a GPU.
extern "C" [[gnu::weak]] void sim_count_from_here();

/// Whether grids begin with their last block: CUDA promises no order. Absent on a GPU.
extern "C" [[gnu::weak]] void sim_begin_with_last_block(bool yes);
/// Grids begin with every `step`-th block, from block 0 on; 1: as numbered.
extern "C" [[gnu::weak]] void sim_begin_with_every_block(std::size_t step);

/// CUPTI delivers this record as if it were its own: if its kind is enabled, and a kernel's once the host has waited
/// for the device. Absent on a GPU, and in a program that does not use CUPTI.
extern "C" [[gnu::weak]] void sim_add_activity(const void* record, std::size_t bytes);
/// CUPTI returns each buffer after so many records, although more would fit; 0: when it is full.
extern "C" [[gnu::weak]] void sim_limit_buffers(std::size_t records);

/// What the program has made on the simulated device and not yet freed or destroyed: calls.cpp compares before and
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

/// "2 allocations, 1 stream": those that are there now, and were not before; "" if there are none.
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

/// Bytes that malloc has given and that were not freed. Only glibc says it.
inline std::size_t bytes_allocated() {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
#else
  return 0;
#endif
}

}  // namespace lab
