// A block that has begun, its threads, and what they recorded.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "observer.hpp"

namespace sim {

struct fiber_stack;

constexpr std::size_t record_capacity = 512;  ///< accesses of a lane before its warp is put together: fits the L2 cache

enum class state : std::uint8_t { fresh, ready, at_barrier, at_collective, at_grid_barrier, waiting, done };
using combine_function = void (*)(const warp_call&);

struct thread_state {
  uint3 index{};
  state now = state::fresh;
  fiber_stack* stack = nullptr;
  std::uintptr_t waits_at = 0;  // program counter of the barrier or warp function, or of a loop that waits
  // a warp function that this lane waits in:
  unsigned mask = 0;
  void* argument = nullptr;
  combine_function combine = nullptr;
  bool as_before = false;   // it looks as it did at one of the last times that it was looked at
  bool saw_clock = false;   // since it was last looked at: time goes on, whatever else does not
  std::uint64_t alone = 0;  // steps since it last met others or was seen to have got further
  std::uint64_t depth = 0;  // of its last access
  bool meets(const thread_state& other) const {
    return now == state::at_collective && mask == other.mask && combine == other.combine &&
           (mask != whoever_comes || waits_at == other.waits_at);
  }
};

/// One lane's accesses since its warp was last put together.
struct lane_records {
  access *begin = nullptr, *read = nullptr, *write = nullptr;
  bool full() const { return write == begin + record_capacity; }
};

/// What a thread looked like the last times that it was looked at.
using past = std::array<std::uint64_t, 32>;

/// A block that has begun.
struct running_block {
  std::uint64_t number = 0;
  std::vector<thread_state> threads;
  std::vector<past> pasts;  // of each thread, from when one is first looked at
  block_shadow shadow;
  std::vector<char> shared_image;  // while another block runs
  int counted = 0, released_count = 0;
  bool waits = false;  // a thread of it was seen to go round in a circle
};

enum class outcome { finished, broken_off, gave_way, waits_for_others, waits_for_grid };

}  // namespace sim
