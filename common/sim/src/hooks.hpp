// What the kernel's compiled code calls, and what it reads.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <string>

#include "counts.hpp"

namespace sim {

class worker;

/// Whether the caller is a thread of a kernel.
bool in_kernel();
/// Ends the kernel that calls.
[[noreturn]] void stop_kernel(fault what, const void* pc, const std::string& detail);
/// A program counter in the first function that `body` would run, but for those of namespace std; 0 where none is
/// traced.
std::uintptr_t ask_for_kernel(void (*body)(void*), void* frame);

}  // namespace sim

// Not null while this OS thread runs a kernel's own code. Null while the worker schedules and in our functions that
// kernels call: the linker may have given us the instrumented copy of a library function such as std::string's, and
// that is no access of the kernel. Outside the namespace: program.cpp knows what is ours by the prefix sim_.
extern __thread sim::worker* sim_active_worker;
// Likewise, but also in blocks that are not observed.
extern __thread sim::worker* sim_running_worker;
// While the host only asks which function a launch would run.
extern __thread std::jmp_buf* sim_asking;
extern __thread std::uintptr_t sim_answer;
