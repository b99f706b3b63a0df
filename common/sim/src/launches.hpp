// Launches: those that ran and those that were refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "counts.hpp"
#include "sim/launch.h"

namespace sim {

constexpr std::size_t default_shared_bytes = std::size_t{48} * 1024;  ///< without cudaFuncSetAttribute

struct launched {
  std::string kernel;
  int registers = 0;  ///< for each thread; 0 for a library's work
  configuration config;
  launch_counts counts;
  std::size_t static_shared_bytes = 0;
  double modelled_seconds = 0;
  bool aborted = false;
  std::uint16_t first_epoch = 0, last_epoch = 0;
  std::uint64_t observed_blocks = 0;  ///< with SIM_SAMPLE fewer than the grid has; counts are scaled
};

/// Every launch since the program began, oldest first.
std::vector<launched>& launch_log();
void add_to_launch_log(launched entry);
/// Nothing is added from now on: a thread that would waits for the program's end.
void end_launch_log();
/// The kernel whose blocks run now, or null.
const char* running_kernel();
/// A failed launch whose error the program has not checked yet; empty if there is none.
std::string unchecked_launch();
/// The program has checked the error.
void forget_unchecked_launch();
/// The limit set by cudaFuncSetAttribute; for an unknown kernel (0), the largest set for any.
std::size_t dynamic_shared_limit(std::uintptr_t kernel);

}  // namespace sim
