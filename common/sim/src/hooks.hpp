// The functions that a kernel's compiled code calls, and the variables that it reads.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <string_view>

#include "counts.hpp"
#include "sim/machine.h"

struct sim_host_watcher;

namespace sim {

class worker;

/// In a function that kernel code called: the end of that code's stack frame.
[[gnu::always_inline]] inline std::uintptr_t frame_here() { return SIM_CALLERS_STACK; }
/// Whether the caller is a thread of a kernel.
bool in_kernel();
/// Ends the calling kernel at pc; null: at the program's call to the simulated device.
[[noreturn]] void stop_kernel(fault what, const void* pc, std::string_view detail);
/// A program counter in the first function outside namespace std that `body` would run; 0 if none is traced.
std::uintptr_t ask_for_kernel(void (*body)(void*), void* frame);

}  // namespace sim

// Not null while this OS thread runs a kernel's own code. Null while the worker schedules and in our functions that
// kernels call: they may use the program's instrumented copies of library functions, such as std::string's, whose
// accesses are not the kernel's. Outside the namespace: program.cpp recognises our variables by the prefix sim_.
extern __thread sim::worker* sim_active_worker;
// Likewise, but also in unobserved blocks.
extern __thread sim::worker* sim_running_worker;
// True while the host only checks which function a launch would run.
extern __thread std::jmp_buf* sim_asking;
extern __thread std::uintptr_t sim_answer;
// Receives each access of host code; null: no listener.
extern __thread sim_host_watcher* sim_host_watch;

namespace sim {

/// For our own functions in kernels: during its lifetime, their accesses do not count as the kernel's.
class unobserved {
 public:
  unobserved() : active_(sim_active_worker), running_(sim_running_worker) {
    sim_active_worker = sim_running_worker = nullptr;
  }
  ~unobserved() {
    sim_active_worker = active_;
    sim_running_worker = running_;
  }
  unobserved(const unobserved&) = delete;
  unobserved& operator=(const unobserved&) = delete;

 private:
  worker *active_, *running_;
};

}  // namespace sim

/// In a graded program, kernels call this instead of a host function (box_builder.cpp): ends the launch.
extern "C" [[noreturn]] void sim_host_function(const char* name);
