// The debugger's view of the running kernel: plain data, which it reads and sets without calling functions. The
// commands are in ../debugger/commands.py, the guide is common/docs/DEBUGGER.md.
#pragma once

#include "blocks.hpp"
#include "launches.hpp"
#include "program.hpp"

namespace sim {

/// Which threads stop at a breakpoint in a kernel; -1: any.
struct stop_place {
  std::uintptr_t pc = 0;
  int block[3] = {-1, -1, -1}, thread[3] = {-1, -1, -1};
  bool each = false;  ///< there is more to its condition, which the debugger evaluates for each of these threads
  bool takes(const uint3& b, const uint3& t) const;
};

struct debugged_kernel {
  /// Whether SIM_DEBUG is set: then there is one worker, and a warp's lanes advance together, line by line.
  bool attached = false;
  // Set by the worker:
  const char* kernel = nullptr;  ///< null: none is running
  unsigned launches = 0;         ///< since the program began
  dim3 grid, block_size;
  uint3 block{};
  const thread_state* threads = nullptr;  ///< of the block
  unsigned thread_count = 0;
  int current = -1;  ///< the thread whose fiber runs; -1: the worker itself
  const shared_array* arrays = nullptr;
  std::size_t array_count = 0, dynamic_shared_bytes = 0;
  const char* report = nullptr;  ///< what a checker has just found, in this thread
  unsigned report_thread = 0;
  // Set by the debugger:
  int focus = -1;  ///< the block's thread that it steps: the first of its warp to reach a line
  unsigned place_count = 0;
  stop_place places[64];
};
extern debugged_kernel debugged;

/// Under a debugger, keeps unused reserved memory out of core dumps: gdb writes whole mappings.
void leave_out_of_dumps(void* begin, std::size_t bytes);
void keep_in_dumps(std::uintptr_t begin, std::size_t bytes);

void begin_debugged_launch(const launched& what);
void end_debugged_launch();
/// A checker has found something for the first time in this launch.
void tell_debugger(const launch_counts& so_far, const fault_report& report);

}  // namespace sim

extern "C" {
// The debugger's own breakpoints: a kernel begins; a checker has found something.
void sim_debugger_launch();
void sim_debugger_report();
// Code built by simcc -G calls this before each line. In the thread that may stop there it returns to the next
// instruction, in all others to the one after that. Changes no register.
void sim_line();
}
