// The steps of a few warps of a launch, for the warp view (see.cpp). Recorded only if SIM_SEE is set.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "counts.hpp"

namespace sim {

struct launched;
struct running_block;

/// A warp instruction on memory, a warp function, or the start of a basic block (space::none).
struct recorded_step {
  std::uint64_t site = 0;
  space where = space::none;
  std::uint32_t number = 0;               ///< among all steps of its warp
  std::uint64_t instructions = 0;         ///< executed by the warp so far, as warp_path counts them
  std::uint32_t lanes = 0;                ///< bit i: lane i was active
  unsigned lanes_per_phase = 0;           ///< shared memory: see addresses.hpp
  site_counts cost;                       ///< the request's contribution to its site's counts
  std::vector<std::uintptr_t> addresses;  ///< of the active lanes; in shared memory relative to the program's storage
};

struct recorded_warp {
  std::uint32_t first_thread = 0;
  std::uint32_t steps_taken = 0;  ///< recorded or not
  std::vector<recorded_step> steps;
  std::unordered_map<std::uint64_t, std::uint32_t> steps_at;  ///< by site
};

/// A warp's work between two barriers of its block.
struct warp_phase {
  std::uint64_t instructions = 0, loads = 0;  ///< as warp_path counts them
  std::uintptr_t waits_at = 0;                ///< program counter of the barrier at its end; 0: the warp has returned
};

struct recorded_block {
  std::uint64_t number = 0;
  std::vector<recorded_warp> warps;
  std::vector<std::vector<warp_phase>> phases;  ///< by phase and warp; those after the first max_phases are omitted
  std::uint64_t phases_passed = 0;
  std::vector<std::uint64_t> instructions;  ///< by warp, up to the last barrier
  std::vector<bool> touched;                ///< by word of the program's shared storage: a thread has accessed it

  /// Adds the next step of the warp that begins with this thread, with its number and instructions.
  void add(std::uint32_t first_thread, recorded_step step, std::uint64_t instructions_in_phase);
  /// All threads wait at a barrier or have returned.
  void end_phase(const running_block& block);
};

struct launch_recording {
  std::vector<recorded_block> blocks;
  /// Null if the block is not recorded.
  recorded_block* block(std::uint64_t number) {
    for (recorded_block& b : blocks)
      if (b.number == number) return &b;
    return nullptr;
  }
};

/// A recording for a launch of this many blocks, of which one in `sample` is observed. Null if SIM_SEE is not set, if
/// the same kernel was recorded with the same sizes, or if enough launches were.
std::shared_ptr<launch_recording> begin_recording(const launched& what, std::uint64_t blocks, std::uint64_t sample);

// Limits of a recording, so that the page has at most a few megabytes.
constexpr std::size_t max_recorded_launches = 16;
constexpr std::uint32_t max_steps = 256;        ///< the first ones of each warp, of any kind
constexpr std::uint32_t max_further_steps = 4;  ///< and of each site that comes later
constexpr std::size_t max_phases = 64;

}  // namespace sim
