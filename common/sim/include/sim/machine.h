// The processor-specific part of the simulated device: one file for each processor in machine/. tools/x86_64.cpp and
// tools/arm64.cpp read the compiler's assembly.
#pragma once

#if defined(__x86_64__)
#include "sim/machine/x86_64.h"
#elif defined(__aarch64__)
#include "sim/machine/arm64.h"
#else
#error "the simulated device runs on x86-64 and on 64-bit Arm"
#endif
