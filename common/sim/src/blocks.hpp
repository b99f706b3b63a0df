// A block that has started, its threads, and their records.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "bulk.hpp"
#include "observer.hpp"

namespace sim {

struct fiber_stack;

constexpr std::size_t record_capacity = 512;  ///< per lane, before its warp is merged: fits in the L2 cache

enum class state : std::uint8_t { fresh, ready, at_barrier, at_collective, at_grid_barrier, waiting, done };
using combine_function = void (*)(const warp_call&);

constexpr unsigned any_lanes = 0;  ///< as a mask: the lanes that reach the line together

struct thread_state {
  uint3 index{};
  state now = state::fresh;
  fiber_stack* stack = nullptr;
  std::uintptr_t frame = 0;     // of our function that the thread waits in: a debugger continues from there
  std::uintptr_t line = 0;      // under a debugger: the line before which the thread waits; 0: it is between two lines
  std::uintptr_t waits_at = 0;  // program counter of the barrier or warp function, or of a loop that waits
  // a warp function that this lane waits in:
  unsigned mask = 0;
  void* argument = nullptr;
  combine_function combine = nullptr;
  // what a waiting thread waits for, if the scheduler knows: the end of a phase
  const mbarrier* barrier = nullptr;
  const unsigned* counter = nullptr;
  unsigned phase = 0;
  bool in_cluster_barrier = false;  // has arrived at the cluster's barrier
  unsigned cluster_phase = 0;       // the phase in which it arrived
  bool as_before = false;           // its state is the same as at a recent check
  std::uint64_t clock = 0;          // the clock value that it last read: part of its state
  std::uint64_t clock_reads = 0;    // since it began
  std::uint64_t alone = 0;          // steps since it last met others or made visible progress
  std::uint64_t depth = 0;          // call depth of its last access
  std::uint64_t steps = 0;          // since it began
  bool meets(const thread_state& other) const {
    return now == state::at_collective && mask == other.mask && combine == other.combine &&
           (mask != any_lanes || waits_at == other.waits_at);
  }
};

/// One lane's accesses since its warp was last merged.
struct lane_records {
  access *begin = nullptr, *read = nullptr, *write = nullptr;
  bool full() const { return write == begin + record_capacity; }
};

/// A thread's state at its last checks.
using past = std::array<std::uint64_t, 32>;

struct running_block;
/// Blocks that run together and can access each other's shared memory.
struct block_cluster {
  std::vector<running_block*> blocks;  ///< indexed by rank
  unsigned phase = 0;                  ///< of the cluster's barrier
};

struct running_block {
  std::uint64_t number = 0;
  std::shared_ptr<block_cluster> cluster;  // null: the block is alone
  unsigned rank = 0;
  block_copies copies;
  block_products products;
  std::vector<thread_state> threads;
  std::vector<past> pasts;  // for each thread, from the first check on
  block_shadow shadow;
  std::unique_ptr<char[]> shared_image;  // while another block runs; pages are allocated when first touched
  std::size_t image_bytes = 0;
  char* image() {  // its address has the same low bits as the block's own memory
    return shared_image.get() + (-reinterpret_cast<std::uintptr_t>(shared_image.get()) & 1023);
  }
  int counted = 0, released_count = 0;
  struct {
    unsigned arrived = 0, phase = 0;
  } named_barriers[16];
  bool waits = false;  // one of its threads was seen to spin
  bool time_out =
      false;  // threads that wait for a phase look again although it has not ended: they may do something else
  bool finished = false;
  std::uint64_t barriers = 0;  // that all its threads have passed
};

enum class outcome { finished, aborted, yielded, waits_for_others, waits_for_grid };

}  // namespace sim
