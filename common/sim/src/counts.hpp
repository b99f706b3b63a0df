// Counts, and faults found.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "access.hpp"
#include "sim/call.h"
#include "sim/tensor.h"

namespace sim {

/// The name of an access that is counted, such as "global load".
std::string name_of(space where, operation op);

/// Sums over all warp instructions of one site.
struct site_counts {
  std::uint64_t requests = 0, lanes = 0;
  std::uint64_t bytes = 0;                             ///< the different ones of each request
  std::uint64_t sectors = 0, ideal_sectors = 0;        ///< global memory
  std::uint64_t lines = 0;                             ///< of 128 bytes, looked up one by one; for atomics, L2's steps
  std::uint64_t wavefronts = 0, ideal_wavefronts = 0;  ///< shared memory
  std::uintptr_t low = ~std::uintptr_t{0}, high = 0;   ///< addresses: [low, high)
  /// How much less a GPU counts, whose assembler joins loads of neighbouring words of shared memory to vectors.
  std::int64_t joined_requests = 0, joined_lanes = 0, joined_wavefronts = 0, joined_ideal = 0;
  /// It does so only if it knows their places: where in 16 bytes such runs of loads began, a bit for each word; and
  /// whether this load began one, or went on with that of another site.
  static constexpr std::uint8_t begins_run = 16, goes_on_with_run = 32;
  std::uint8_t runs = 0;
  void add(const site_counts& other);
  site_counts as_joined() const;
};

enum class fault : std::uint8_t {
  out_of_bounds,
  use_after_free,
  misaligned,
  uninitialised,
  illegal_address,
  other_device,  ///< memory of one that this one may not access
  divergent_barrier,
  missing_lane,
  block_race,  ///< between threads of a block
  global_race,
  stream_race,
  early_access,  ///< of what the kernel before uses, which may still run
  local_bounds,
  infinite_wait,
  not_cooperative,
  assertion,
  trap,
  late_copy,  ///< a bulk copy arrives when its mbarrier's phase, or its block, has ended
};

/// The other side of a race; or, if words were not written yet, who writes them.
enum class party : std::uint8_t {
  thread,
  thread_of_warp,  ///< of the same warp
  copy,            ///< an asynchronous copy that writes
  reading_copy,    ///< a bulk copy that reads
  reading_product,
};

/// That there was another block is known, and not which.
constexpr std::uint64_t some_block = ~std::uint64_t{0};

/// The first occurrence, by block and thread, of a fault at a site; of a race, if possible one that is not between
/// flags.
struct fault_report {
  fault what{};
  std::uint64_t site = 0;
  space where = space::global;
  std::uint64_t block = 0;
  std::uint32_t thread = 0;
  std::uintptr_t address = 0;
  party other = party::thread;
  std::string detail;             ///< words for the message
  std::string place;              ///< in its allocation, once the launch has ended: later it may be freed
  std::uint64_t other_site = 0;   ///< of a race: the access before
  std::uint64_t other_block = 0;  ///< or, of a race between streams, the number of the launch before
  std::uint32_t other_thread = 0;
  bool between_flags = false;  ///< both accesses are volatile: allowed if the kernel uses fences
  std::uint64_t occurrences = 1;
  std::uint64_t number = 0;  ///< in the order of its worker's reports: tells what was first in a block; 0: none yet
  /// A race between a plain load and an atomic is the load's: each has its own report.
  bool is_load_beside_atomic() const {
    return what == fault::block_race && site_operation(site) == operation::load &&
           site_strength(site) == strength::plain && site_operation(other_site) == operation::atomic;
  }
  /// Keeps the one that tells more, or the earlier, with the occurrences of both.
  void merge(const fault_report& other, std::uint64_t others_number);
};

/// Serial work of a warp, in warp instructions. For a block: the most that any warp does from barrier to barrier,
/// summed over the phases.
struct warp_path {
  std::uint64_t instructions = 0, barriers = 0, atomics = 0;
  std::uint64_t loads = 0;         ///< from global memory that the warp waits for
  std::uint64_t loads_beside = 0;  ///< after another in its basic block
  std::uint64_t loads_ahead = 0;   ///< in a loop that nvcc unrolls: those of several iterations are in flight
  std::uint64_t loads_near = 0, loads_ahead_near = 0;  ///< of what the block has just loaded
  template <class Combine>
  void combine(const warp_path& other, Combine f) {
    for (const auto field :
         {&warp_path::instructions, &warp_path::barriers, &warp_path::atomics, &warp_path::loads,
          &warp_path::loads_beside, &warp_path::loads_ahead, &warp_path::loads_near, &warp_path::loads_ahead_near})
      this->*field = f(this->*field, other.*field);
  }
  void add(const warp_path& other) { combine(other, std::plus<>()); }
  void take_longer(const warp_path& other) {
    combine(other, [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
  }
};

/// What warps moved of one allocation; of each request, the different bytes.
struct allocation_counts {
  std::uint64_t loaded = 0, stored = 0;            ///< bytes; an atomic does both
  std::uint64_t updated = 0;                       ///< of these, by atomics
  bool remote = false;                             ///< in another device's memory
  std::uint64_t link_loaded = 0, link_stored = 0;  ///< then, bytes that the link carries; atomics only store
  std::size_t bytes = 0;                           ///< its size, line and name: once the launch has ended
  std::uintptr_t pc = 0;
  std::string name;
  void add(operation op, std::uint64_t moved);
};

/// What the tensor cores did with operands and sums of certain types.
struct tensor_counts {
  std::uint64_t operations = 0, instructions = 0;
  std::uint64_t shared_bytes = 0;  ///< read, by wgmma
};

/// Counts of one launch, or of one worker's share of it.
struct launch_counts {
  std::map<std::pair<space, std::uint64_t>, site_counts> sites;
  std::map<std::pair<fault, std::uint64_t>, fault_report> faults;
  std::map<std::uintptr_t, allocation_counts> allocations;  ///< by where they begin
  std::uint64_t unique_loaded_sectors = 0, unique_stored_sectors = 0;
  std::uint64_t unique_loaded_pairs = 0;  ///< of sectors: DRAM moves 64 bytes at a time
  std::uint64_t shared_stores = 0;        ///< of a sector that another block had stored to first
  /// Loaded sectors that the block had loaded before. Entry k: its warp had moved on by at least 2^(k-1) lines since,
  /// and by less than 2^k.
  std::array<std::uint64_t, 13> reuse{};
  std::map<std::pair<element, element>, tensor_counts> tensor;            ///< by the types of A and of the sums
  std::map<std::pair<element, element>, tensor_counts> warpgroup_tensor;  ///< likewise, of wgmma
  std::set<std::uintptr_t> matrix_accesses;                               ///< where ldmatrix and stmatrix are
  std::set<std::uint32_t> compared_loads;  ///< program counters of plain loads that a compare-and-swap verifies
  warp_path path;                          ///< summed over the blocks
  warp_path longest;                       ///< of one block
  std::uint64_t barriers = 0;              ///< __syncthreads, one for each warp
  std::uint64_t collectives = 0;           ///< shuffles, votes, __syncwarp, one for each warp
  std::uint64_t words_copied = 0;          ///< into shared memory, asynchronously
  std::uint64_t copied_beside_loads = 0;   ///< of these, those in flight while the block loaded others
  std::uint64_t accesses = 0;              ///< observed, one for each lane
  bool waits_for_kernel_before = false;    ///< a thread did, in a launch that may begin early
  bool next_begins_after_wait = false;     ///< a block waited for it before letting the next one begin
  bool fenced = false;                     ///< a thread used a fence
  bool fenced_for_all = false;             ///< of more than its block
  std::uint64_t reported = 0;              ///< by one worker
  bool hands_over_global = false;          ///< or volatile accesses, or locks, in global memory
  std::uint64_t beyond = 0;                ///< accesses out of bounds
  bool ran_away = false;                   ///< so many of them, or so far, that they end the kernel
  void add(const launch_counts& other);
  void add(fault_report report);
  void note_fence(scope within) {
    fenced = true;
    fenced_for_all |= within == scope::device;
  }
  void scale(double factor);  ///< from the observed blocks to all
};

}  // namespace sim
