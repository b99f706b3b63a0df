// A worker: one OS thread that runs blocks, and what it knows of the threads of those. scheduler.cpp says in which
// order they run, warp.cpp what their lanes do together, hooks.cpp how their accesses come to be written down.
#pragma once

#include <array>
#include <boost/context/detail/fcontext.hpp>
#include <condition_variable>
#include <csetjmp>
#include <deque>
#include <memory>
#include <mutex>

#include "observer.hpp"

namespace sim {

namespace context = boost::context::detail;

constexpr std::size_t stack_bytes = std::size_t{64} * 1024, max_threads = 1024;
constexpr std::size_t max_stacks = std::size_t{1} << 18;  // of one worker: threads of the blocks that it has begun
constexpr std::size_t record_capacity = 512;  // accesses of a lane before its warp is put together: fits the L2 cache
constexpr std::size_t record_stride = record_capacity + 4;  // lanes begin in different cache sets

struct fiber_stack {
  char* top = nullptr;
  context::fcontext_t context = nullptr;  // where to go on; null: never started, or abandoned
};

// Looking whether a thread goes round in a circle takes time: where it meets others on its way, only so often. Odd, so
// that each place of a circle comes up.
constexpr unsigned look_every = 257;

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

enum class outcome { finished, broken_off, waits_for_others, waits_for_grid };

/// Where the workers of a grid stand, as one word: how far the grid has got, and how many workers have no block left,
/// wait at a barrier of the grid, or have found no block of theirs that can go on since it got that far.
class standing {
 public:
  std::uint64_t progress() const { return word_.load() >> 24; }
  void got_further() {
    change([](std::uint64_t w) { return ((w >> 24) + 1) << 24 | (w & 0xffff00); });
  }
  void gone() { word_ += 0x10000; }
  void at_grid_barrier() { word_ += 0x100; }
  void pass_grid_barrier() {
    change([](std::uint64_t w) { return ((w >> 24) + 1) << 24 | (w & 0xff0000); });
  }
  /// False where the grid has got further than `progress` meanwhile.
  bool idle(std::uint64_t progress) {
    std::uint64_t w = word_;
    while (w >> 24 == progress)
      if (word_.compare_exchange_weak(w, w + 1)) return true;
    return false;
  }
  bool all_idle(unsigned workers) const {
    const std::uint64_t w = word_;
    return (w & 0xff) > 0 && (w & 0xff) + (w >> 8 & 0xff) + (w >> 16 & 0xff) == workers;
  }
  bool all_at_grid_barrier(unsigned workers) const {
    const std::uint64_t w = word_;
    return (w >> 8 & 0xff) + (w >> 16 & 0xff) == workers;
  }

 private:
  template <class Change>
  void change(Change to) {
    std::uint64_t w = word_;
    while (!word_.compare_exchange_weak(w, to(w))) {
    }
  }
  std::atomic<std::uint64_t> word_{0};
};

struct grid_run {
  launched* what = nullptr;
  void (*body)(void*) = nullptr;
  void* frame = nullptr;
  std::size_t frame_bytes = 0;
  std::atomic<std::uint16_t> epoch{0};
  const std::bitset<65536>* concurrent = nullptr;
  std::uint64_t blocks = 0;
  std::uint64_t sample = 1;  // every so many blocks one is observed
  std::atomic<std::uint64_t> next_block{0};
  std::atomic<bool> abort{false};
  // Blocks that wait for each other:
  standing workers_stand;
  unsigned workers = 0;
  std::mutex mutex;
  std::condition_variable grid_barrier;
  std::uint64_t grid_barriers = 0;
  std::atomic<std::uint64_t> finished_blocks{0};
};

class worker {
 public:
  worker();
  void run(grid_run& grid);

  // ---- called from fibers ----
  void barrier(std::uintptr_t pc) {
    current_->waits_at = pc;
    current_->now = state::at_barrier;
    leave();
  }
  int barrier_count(std::uintptr_t pc, int predicate) {
    block_->counted += predicate != 0;
    barrier(pc);
    return block_->released_count;
  }
  void grid_barrier(std::uintptr_t pc);
  void meet(unsigned mask, void* argument, combine_function combine, std::uintptr_t pc);
  unsigned lane_number() const { return current_number_ % lanes_per_warp; }
  void spin(std::uintptr_t pc) {
    current_->waits_at = pc;
    current_->now = state::waiting;
    leave();
  }
  [[noreturn]] void break_off(fault what, std::uint64_t site, std::uintptr_t address, const std::string& detail = "");
  void report_here(fault what, std::uint64_t site, space where, std::uintptr_t address,
                   const std::string& detail = "") {
    observer_.report(what, site, where, {block_->number, current_number_}, 0, address, detail);
  }
  void records_full() { leave(); }
  launch_counts& counts() { return observer_.counts(); }
  void turn() {  // of a loop in a block that is not observed
    if (++turns_ % 4096 == 0) leave();
  }
  std::uint64_t depth_of(std::uintptr_t frame) const { return ((stack_top - frame) >> 4) & 0xffff; }
  /// For functions that know their caller's program counter, but not its frame.
  std::uint64_t last_depth() const {
    return write != records_[lane_number()].begin ? site_depth(write[-1].site) : current_->depth;
  }

  // ---- read by the hooks ----
  access* write = nullptr;
  access* write_end = nullptr;
  std::uintptr_t shared_begin = 0, shared_bytes = 0, stacks_begin = 0, stack_top = 0;
  std::uintptr_t frame_begin = 0, frame_bytes = 0, coordinates_begin = 0, coordinates_bytes = 0;
  bool observing = true;

 private:
  static void fiber_main(context::transfer_t from);
  void enter();
  fiber_stack* take_stack();
  void begin_block(running_block& block, std::uint64_t number);
  void set_aside(running_block& block);
  void bring_back(running_block& block);
  outcome go_on_with(running_block& block);
  bool run_blocks();
  bool stuck(std::uint64_t progress, const std::deque<running_block*>& waiting);
  bool pass_grid_barrier(std::deque<running_block*>& waiting);
  void run_warp(unsigned first, unsigned count);
  void resume(thread_state& thread);
  void activate(thread_state& thread);
  void remember_state(thread_state& thread, const lane_records& records);
  void leave() {
    const context::transfer_t back = context::jump_fcontext(scheduler_, nullptr);
    scheduler_ = back.fctx;
  }
  bool finish_and_take_next();
  bool put_together(unsigned first, unsigned count, bool all);
  void check_index(std::uint64_t site, unsigned lane, const access* next, const access* end, std::uint64_t index);
  bool settle_collectives(unsigned first, unsigned count);
  bool settle_whoever_came(unsigned first, unsigned count);
  void complete(unsigned first, unsigned participants);
  bool release_barrier();
  void report_stuck();
  void report_infinite_wait(const running_block& block);
  void abandon(running_block& block);
  std::vector<thread_state>& threads() { return block_->threads; }
  unsigned warp_first() const { return (current_number_ / 32) * 32; }
  static std::uint64_t waiting_site(const thread_state& t) { return make_site(t.waits_at, 0, operation::load); }

  char* stack_memory_;
  std::size_t stacks_made_ = 0;
  std::deque<fiber_stack> stacks_;
  std::vector<fiber_stack*> free_stacks_;
  context::fcontext_t scheduler_ = nullptr;
  grid_run* grid_ = nullptr;
  observer observer_;
  std::vector<access> record_memory_ = std::vector<access>(lanes_per_warp * record_stride);
  std::array<lane_records, lanes_per_warp> records_;
  running_block* block_ = nullptr;
  std::deque<std::unique_ptr<running_block>> spare_blocks_;
  thread_state* current_ = nullptr;
  std::uint64_t turns_ = 0;
  unsigned warp_first_ = 0;                        // of the warp that is put together
  unsigned current_number_ = 0;                    // linear index of current_ in its block
  bool broken_off_ = false, got_further_ = false;  // since the last round over the block's warps
  bool block_got_further_ = false;                 // since it was brought back
  bool look_ = false;                              // for circles that lead through warp functions and barriers too
};

}  // namespace sim

// Not null while this OS thread runs a kernel's own code. Null in the scheduler and in our functions that kernels call:
// the linker may have given us the instrumented copy of a library function such as std::string's, and that is no access
// of the kernel.
extern __thread sim::worker* sim_active_worker;
// Likewise, but also in blocks that are not observed.
extern __thread sim::worker* sim_running_worker;
// While the host only asks which function a launch would run.
extern __thread std::jmp_buf* sim_asking;
extern __thread std::uintptr_t sim_answer;
