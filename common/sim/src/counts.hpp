// Counts and faults.
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

/// The name of a counted access, such as "global load".
std::string name_of(space where, operation op);

/// Sums over all warp instructions of one site.
struct site_counts {
  std::uint64_t requests = 0, lanes = 0;
  std::uint64_t bytes = 0;                             ///< the distinct bytes of each request
  std::uint64_t sectors = 0, ideal_sectors = 0;        ///< global memory
  std::uint64_t lines = 0;                             ///< of 128 bytes, looked up one by one; for atomics, L2's steps
  std::uint64_t wavefronts = 0, ideal_wavefronts = 0;  ///< shared memory
  std::uintptr_t low = ~std::uintptr_t{0}, high = 0;   ///< addresses: [low, high)
  /// How much less a GPU counts, because its assembler merges loads of neighbouring shared-memory words into vectors.
  std::int64_t joined_requests = 0, joined_lanes = 0, joined_wavefronts = 0, joined_ideal = 0;
  /// The assembler does so only if it knows their addresses. The offsets within 16 bytes at which such runs of loads
  /// began, one bit per word; and whether this load began a run or continued another site's.
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
  other_device,  ///< memory of another device that this one may not access
  divergent_barrier,
  missing_lane,
  block_race,  ///< between threads of a block
  global_race,
  stream_race,
  early_access,  ///< of memory that the previous kernel uses, which may still run
  local_bounds,
  infinite_wait,
  not_cooperative,
  assertion,
  trap,
  late_copy,  ///< a bulk copy arrives after its mbarrier's phase, or its block, has ended
};

/// The other side of a race; for unwritten words, their writer.
enum class party : std::uint8_t {
  thread,
  thread_of_warp,  ///< of the same warp
  copy,            ///< an asynchronous copy that writes
  reading_copy,    ///< a bulk copy that reads
  reading_product,
};

/// Some other block: which one is unknown.
constexpr std::uint64_t some_block = ~std::uint64_t{0};

/// The first occurrence, by block and thread, of a fault at a site; for a race, preferably one that is not between
/// flags.
struct fault_report {
  fault what{};
  std::uint64_t site = 0;
  space where = space::global;
  std::uint64_t block = 0;
  std::uint32_t thread = 0;
  std::uintptr_t address = 0;
  party other = party::thread;
  std::string detail;             ///< details for the message
  std::string place;              ///< in its allocation, taken when the launch ends: memory may be freed later
  std::uint64_t other_site = 0;   ///< of a race: the earlier access
  std::uint64_t other_block = 0;  ///< in a race between streams: the number of the earlier launch
  std::uint32_t other_thread = 0;
  bool between_flags = false;  ///< both accesses are volatile: allowed if the kernel uses fences
  std::uint64_t occurrences = 1;
  std::uint64_t number = 0;  ///< in the order of its worker's reports: tells which came first in a block; 0: none yet
  /// A race between a plain load and an atomic belongs to the load: each load has its own report.
  bool is_load_beside_atomic() const {
    return what == fault::block_race && site_operation(site) == operation::load &&
           site_strength(site) == strength::plain && site_operation(other_site) == operation::atomic;
  }
  /// Keeps the more informative report, or the earlier one, and adds the occurrences of both.
  void merge(const fault_report& other, std::uint64_t others_number);
};

/// Serial work of a warp, in warp instructions. For a block: the maximum over its warps between two barriers, summed
/// over the phases.
struct warp_path {
  std::uint64_t instructions = 0, barriers = 0, atomics = 0;
  std::uint64_t loads = 0;         ///< from global memory, for which the warp waits
  std::uint64_t loads_beside = 0;  ///< that follow another load in their basic block
  std::uint64_t loads_ahead = 0;   ///< in a loop that nvcc unrolls, so those of several iterations are in flight
  std::uint64_t loads_near = 0, loads_ahead_near = 0;  ///< from memory that the block has just loaded
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

/// The bytes that warps loaded from and stored to one allocation: the distinct bytes of each request.
struct allocation_counts {
  std::uint64_t loaded = 0, stored = 0;            ///< bytes; an atomic does both
  std::uint64_t uncounted = 0;                     ///< the part of these by atomics and bulk copies
  bool remote = false;                             ///< in another device's memory
  std::uint64_t link_loaded = 0, link_stored = 0;  ///< the bytes that the link then carries; atomics only store
  std::size_t bytes = 0;                           ///< its size, line and name, set when the launch has ended
  std::uintptr_t pc = 0;
  std::string name;
  void add(operation op, std::uint64_t moved);
};

/// The work of the tensor cores with operands and sums of certain types.
struct tensor_counts {
  std::uint64_t operations = 0, instructions = 0;
  std::uint64_t shared_bytes = 0;  ///< read, by wgmma
};

/// How far the kernels' clock advances each time that a thread reads it.
constexpr std::uint64_t cycles_per_clock_read = 32;

/// Counts of one launch, or of one worker's share of it.
struct launch_counts {
  std::map<std::pair<space, std::uint64_t>, site_counts> sites;
  std::map<std::pair<fault, std::uint64_t>, fault_report> faults;
  std::map<std::uintptr_t, allocation_counts> allocations;  ///< by their start
  std::uint64_t unique_loaded_sectors = 0, unique_stored_sectors = 0;
  std::uint64_t unique_loaded_pairs = 0;  ///< pairs of sectors: DRAM moves 64 bytes at a time
  std::uint64_t shared_stores = 0;        ///< to a sector that another block had stored to first
  /// Loaded sectors that the block had loaded before. Entry k: its warp has since advanced by at least 2^(k-1) and less
  /// than 2^k lines.
  std::array<std::uint64_t, 13> reuse{};
  std::map<std::pair<element, element>, tensor_counts> tensor;            ///< by the types of A and of the sums
  std::map<std::pair<element, element>, tensor_counts> warpgroup_tensor;  ///< likewise, by wgmma
  std::set<std::uintptr_t> matrix_accesses;                               ///< the places of ldmatrix and stmatrix
  std::set<std::uint32_t> compared_loads;  ///< program counters of plain loads that a compare-and-swap checks
  warp_path path;                          ///< summed over the blocks
  std::uint64_t clock_reads = 0;           ///< by one thread, the most
  warp_path longest;                       ///< over one block
  std::uint64_t barriers = 0;              ///< __syncthreads, one for each warp
  std::uint64_t collectives = 0;           ///< shuffles, votes, __syncwarp, one for each warp
  std::uint64_t words_copied = 0;          ///< into shared memory, asynchronously
  std::uint64_t copied_beside_loads = 0;   ///< the part that was in flight while the block loaded other words
  std::uint64_t accesses = 0;              ///< observed, one for each lane
  bool waits_for_kernel_before = false;    ///< a thread waited for it, in a launch that may begin early
  bool next_begins_after_wait = false;     ///< a block waited for it before letting the next one begin
  bool fenced = false;                     ///< a thread used a fence
  bool fenced_for_all = false;             ///< with a scope wider than its block
  std::uint64_t reported = 0;              ///< by one worker
  bool hands_over_global = false;          ///< a thread used volatile accesses or locks in global memory
  std::uint64_t beyond = 0;                ///< accesses out of bounds
  bool ran_away = false;                   ///< so many or so distant that they end the kernel
  void add(const launch_counts& other);
  void add(fault_report report);
  void note_fence(scope within) {
    fenced = true;
    fenced_for_all |= within == scope::device;
  }
  void scale(double factor);  ///< from the observed blocks to all
};

}  // namespace sim
