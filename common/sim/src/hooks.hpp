// What the kernel's compiled code calls, and what it reads.
#pragma once

#include <csetjmp>

#include "internal.hpp"

// Not null while this OS thread runs a kernel's own code. Null in the scheduler and in our functions that kernels call:
// the linker may have given us the instrumented copy of a library function such as std::string's, and that is no access
// of the kernel. Outside the namespace: memory.cpp knows it by this name.
extern __thread sim::worker* sim_active_worker;
// Likewise, but also in blocks that are not observed.
extern __thread sim::worker* sim_running_worker;
// While the host only asks which function a launch would run.
extern __thread std::jmp_buf* sim_asking;
extern __thread std::uintptr_t sim_answer;
