// Launches that ran, and launches that were refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "counts.hpp"
#include "sim/launch.h"

namespace sim {

constexpr std::size_t default_shared_bytes = std::size_t{48} * 1024;  ///< without cudaFuncSetAttribute

struct launch_recording;

/// A thread's place when its program was stopped.
struct stopped_thread {
  std::uint64_t block = 0;
  std::uint32_t thread = 0;
  std::vector<std::uintptr_t> loop;  ///< program counters that it repeats, or only its last one
  std::uint64_t rounds = 0;          ///< of the loop, if it has done nothing else; 0: no loop
  std::uint64_t barriers = 0;        ///< that its block has passed
};

struct launched {
  std::string kernel;           ///< as the launch names it
  std::uintptr_t function = 0;  ///< the kernel's code; 0 if unknown, and for a library's work
  int registers = 0;            ///< for each thread; 0 for a library's work
  configuration config;
  int device = 0;
  launch_counts counts;
  std::size_t static_shared_bytes = 0;
  std::uint64_t link_loaded = 0, link_stored = 0;  ///< bytes from and to other devices
  double modelled_seconds = 0;
  bool aborted = false;
  std::uint16_t first_epoch = 0, last_epoch = 0;
  /// With SIM_BUDGET, if some blocks did not run: how many ran, and which counts were the same in all of them.
  std::optional<std::uint64_t> blocks_run;
  std::map<std::string, bool> same_in_blocks;
  /// The steps of some of its warps, recorded for some launches with SIM_SEE.
  std::shared_ptr<launch_recording> recording;
  std::vector<stopped_thread> stopped;  ///< one for each worker
};

/// Every launch since the program began, oldest first.
std::vector<launched>& launch_log();
void add_to_launch_log(launched entry);
/// From now on, a thread that would add to the log waits until the program ends.
void end_launch_log();
/// The kernel whose blocks run now, or null.
const char* running_kernel();
/// A failed launch whose error the program has not checked yet; empty if there is none.
std::string unchecked_launch();
/// Why the program's last launch was refused; empty if it was not.
std::string refused_last_launch();
/// Call when the program has checked the error.
void forget_unchecked_launch();
/// The limit set by cudaFuncSetAttribute; for an unknown kernel (0), the largest limit of any kernel.
std::size_t dynamic_shared_limit(std::uintptr_t kernel);

}  // namespace sim
