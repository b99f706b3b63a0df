// What the simulated device has to know about the processor that it runs on: one file for each in machine/. The
// compiler's assembly is that of tools/x86_64.cpp and tools/arm64.cpp.
#pragma once

#if defined(__x86_64__)
#include "sim/machine/x86_64.h"
#elif defined(__aarch64__)
#include "sim/machine/arm64.h"
#else
#error "the simulated device runs on x86-64 and on 64-bit Arm"
#endif
