// For the staff's code that calls a graded function; the function itself may not use this. The device reports each
// memory access of host functions in .cu files: its compiler instruments those, too.
#pragma once

#include <cstddef>
#include <cstdint>

struct sim_host_watcher {
  virtual ~sim_host_watcher() = default;
  virtual void see(std::uintptr_t address, std::size_t bytes, bool store) = 0;
};

/// `who` receives this thread's accesses outside kernels, those of the runtime's copies and fills of host memory too,
/// until it is set to null. Absent on a GPU.
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
