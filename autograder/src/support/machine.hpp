// What the grader must know about its processor: one file for each.
#pragma once

#if defined(__x86_64__)
#include "support/machine_x86_64.hpp"
#elif defined(__aarch64__)
#include "support/machine_arm64.hpp"
#else
#error "the grader runs on x86-64 and on 64-bit Arm"
#endif
