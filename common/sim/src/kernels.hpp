// Kernels known by address.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/launch.h"

namespace sim {

std::string kernel_name(const void* kernel);
/// The address of the kernel that `body` runs, called `name` in the source; 0 if it cannot be determined.
std::uintptr_t kernel_behind(const char* name, void (*body)(void*), void* frame);
/// The most threads per block of the kernel.
struct limits_of_kernel {
  int registers = 0;    ///< per thread
  unsigned bounds = 0;  ///< of __launch_bounds__; 0: none
  unsigned by_registers = 0, threads = 0;
};
limits_of_kernel limits_of(std::uintptr_t kernel);
/// Registers per thread, from ptxas if simcc could run it; otherwise a guess.
int registers_of(std::uintptr_t kernel);
/// Null, with an error in the report, if the types of the kernel's arguments are unknown.
std::shared_ptr<const bound_kernel> bind_by_address(const void* kernel, void** arguments);

}  // namespace sim
