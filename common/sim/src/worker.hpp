// An OS thread that runs whole blocks. A block's threads are fibers that run one after another up to the next barrier
// or warp function. Then the accesses of a warp's lanes are merged into warp instructions and passed to the observer.
// If all threads of a block wait for threads outside it, the worker suspends the block with its shared memory and
// continues with another.
#pragma once

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <deque>
#include <iterator>
#include <memory>

#include "blocks.hpp"
#include "grid.hpp"
#include "sim/machine.h"

// The coordinates that kernels read; declared const in sim/device.h.
extern __thread uint3 threadIdx;
extern __thread uint3 blockIdx;
extern __thread uint3 blockDim;  // sim::types::dimensions there, with the same layout
extern __thread uint3 gridDim;

namespace sim {

namespace context = boost::context::detail;

constexpr std::size_t stack_bytes = std::size_t{256} * 1024, max_threads = 1024;
constexpr std::size_t max_stacks = std::size_t{144} * 2048;  // per worker: no GPU has more resident threads
constexpr std::size_t record_stride = record_capacity + 4;   // lanes start in different cache sets

struct fiber_stack {
  char* top = nullptr;
  context::fcontext_t context = nullptr;  // where to continue; null: never started, or abandoned
};

// A thread that has taken this many steps (accesses, and iterations of unrecorded loops) since it last met others may
// be spinning, so it is checked.
constexpr unsigned steps_before_look = 8 * record_capacity;

/// Set when the program ends: workers add their counts and stop.
extern std::atomic<bool> workers_stopped;

class worker {
 public:
  worker();

  void run(grid_run& grid);

  // ---- called from fibers; `frame`: the end of the kernel code's frame
  void barrier(std::uintptr_t pc, std::uintptr_t frame) {
    current_->waits_at = pc;
    current_->now = state::at_barrier;
    leave(frame);
  }
  int barrier_count(std::uintptr_t pc, int predicate, std::uintptr_t frame) {
    block_->counted += predicate != 0;
    barrier(pc, frame);
    return block_->released_count;
  }
  void grid_barrier(std::uintptr_t pc, std::uintptr_t frame);
  void meet(unsigned mask, void* argument, combine_function combine, std::uintptr_t pc, std::uintptr_t frame);
  unsigned lane_number() const { return current_number_ % lanes_per_warp; }
  [[noreturn]] void end_at_full_stack();
  void read_clock(std::uint64_t cycles) {
    current_->clock = cycles;
    counts().clock_reads = std::max(counts().clock_reads, ++current_->clock_reads);
  }
  void spin(std::uintptr_t pc, std::uintptr_t frame) {
    current_->waits_at = pc;
    current_->now = state::waiting;
    leave(frame);
  }
  [[noreturn]] void abort_kernel(fault what, std::uint64_t site, std::uintptr_t address,
                                 const std::string& detail = "");
  void report_here(fault what, std::uint64_t site, space where, std::uintptr_t address,
                   const std::string& detail = "") {
    observer_.report(what, site, where, {block_->number, current_number_}, 0, address, detail);
  }
  [[gnu::noinline, gnu::cold]] void interrupt(std::uintptr_t frame) { leave(frame); }
  launch_counts& counts() { return observer_.counts(); }
  void count_tensor(element a, element sum, std::uint64_t operations, unsigned instructions) {
    if (!observing_) return;
    tensor_counts& t = counts().tensor[{a, sum}];
    t.operations += operations;
    t.instructions += instructions;
  }
  void count_matrix_access(std::uintptr_t pc) {
    if (observing_) counts().matrix_accesses.insert(pc);
  }
  /// Before a compare-and-swap is recorded: notes this lane's last access to the address if it was a plain load.
  void note_compare(std::uintptr_t address) {
    const access* const begin = records_[lane_number()].begin;
    const auto recent = std::min<std::ptrdiff_t>(write - begin, 64);
    const auto last = std::find_if(std::reverse_iterator(write), std::reverse_iterator(write - recent),
                                   [&](const access& a) { return (a.address & address_mask) == address; });
    if (last.base() == write - recent || site_operation(last->site) != operation::load) return;
    counts().compared_loads.insert(static_cast<std::uint32_t>(last->site));
  }
  void note_mbarrier_access(std::uintptr_t pc) { observer_.note_mbarrier_access(pc); }
  void turn(std::uintptr_t frame) {  // an iteration of an unrecorded loop
    if (++turns_ == steps_before_look) [[unlikely]]
      interrupt(frame);
  }
  /// Null unless this block's accesses are checked.
  block_order* order() { return observing_ && recording_ ? &block_->shadow.order : nullptr; }
  unsigned number_in_block() const { return current_number_; }
  bool may_be_early() const { return grid_->others.at_begin != nullptr; }
  /// Returns whether other threads have run meanwhile.
  bool note_order(std::uint64_t record, std::uintptr_t frame) {
    if (record == 0) return false;
    put_order(record);
    if (write != write_end) return false;
    interrupt(frame);
    return true;
  }
  // ---- debugger.cpp, called from fibers
  bool reach_line(std::uintptr_t pc, std::uintptr_t frame);
  // ---- bulk.cpp, called from fibers
  bool wait_for_phase(mbarrier* barrier, unsigned parity, std::uintptr_t pc, std::uintptr_t frame);
  void issue_in(char* to, mbarrier* arrived, std::shared_ptr<const bulk_rows> rows, unsigned ranks, std::uintptr_t pc,
                std::uintptr_t frame);
  void issue_out(const char* from, std::shared_ptr<const bulk_rows> rows, bulk_reduction how, std::uintptr_t pc,
                 std::uintptr_t frame);
  void commit_bulk();
  void wait_for_bulk(unsigned groups, std::uintptr_t frame);
  // ---- wgmma.cpp, called from fibers by a warp's first lane; the first warp reports the warpgroup's reads.
  void issue_product(const warpgroup_product& p, std::uintptr_t pc, std::uintptr_t frame);
  void commit_products();
  void wait_for_products(unsigned groups, std::uintptr_t pc, std::uintptr_t frame);
  bool observing() const { return observing_ && recording_; }

  // ---- clusters.cpp, called from fibers
  dim3 cluster_shape() const { return grid_->what->config.cluster; }
  running_block& block() { return *block_; }
  /// The cluster's block whose shared memory contains an address, and the corresponding address there.
  struct shared_place {
    running_block* block = nullptr;
    std::uintptr_t address = 0;
  };
  shared_place place_of(std::uintptr_t address);
  std::uintptr_t address_in(const running_block& block, std::uintptr_t address);
  bool access_in_cluster(std::uint64_t site, std::uintptr_t address);
  void require_cluster(const dim3& shape);
  void arrive_at_cluster(std::uintptr_t frame);
  void wait_for_cluster(std::uintptr_t pc, std::uintptr_t frame);

  void named_barrier(unsigned id, unsigned threads, bool wait, std::uintptr_t pc, std::uintptr_t frame);
  std::uint64_t depth_of(std::uintptr_t frame) const { return ((stack_top - frame) >> 4) & 0xffff; }
  /// For functions that know their caller's program counter but not the frame.
  std::uint64_t last_depth() const {
    return write != records_[lane_number()].begin ? site_depth(write[-1].site) : current_->depth;
  }

  // ---- read by the hooks ----
  access* write = nullptr;
  access* write_end = nullptr;
  std::uintptr_t shared_begin = 0, shared_bytes = 0, stacks_begin = 0, stack_top = 0;
  std::uintptr_t frame_begin = 0, frame_bytes = 0, coordinates_begin = 0, coordinates_bytes = 0;

 private:
  // ---- grid.cpp
  std::uint64_t resident_blocks() const;
  bool run_blocks();
  void settle(bool alone);
  [[noreturn]] void stay_stopped(const stopped_thread* where = nullptr);
  bool stuck(std::uint64_t progress, const std::deque<running_block*>& waiting);
  bool pass_grid_barrier(std::deque<running_block*>& waiting);
  bool run_cluster(std::uint64_t first, std::deque<running_block*>& waiting);
  bool may_yield() const { return stacks_made_ - free_stacks_.size() < max_stacks / 2; }

  // ---- blocks.cpp
  void begin_block(running_block& block, std::uint64_t number);
  void set_aside(running_block& block);
  void bring_back(running_block& block);
  outcome go_on_with(running_block& block);
  void run_warp(unsigned first, unsigned count);
  stopped_thread where_stopped(unsigned first, unsigned count);
  bool release_barrier();
  bool wake_waiting();
  // ---- bulk.cpp, clusters.cpp
  bool may_continue(const thread_state& t);
  void let_copies_arrive(mbarrier* barrier);
  void finish_copies();
  void complete_cluster_barrier();
  void put_bulk(bulk_access access, std::uintptr_t pc, std::uintptr_t frame);
  std::uintptr_t new_flag() { return 64 + ++flags_; }  // not an address
  void report_two_barriers(const thread_state& t);
  void report_stuck();
  void report_infinite_wait(const running_block& block);
  void abandon(running_block& block);
  std::vector<thread_state>& threads() { return block_->threads; }
  static std::uint64_t waiting_site(const thread_state& t) { return make_site(t.waits_at, 0, operation::load); }

  /// Records it as part of the previous instruction.
  void put_order(std::uint64_t record) {
    const bool none = write == records_[lane_number()].begin;
    const std::uint64_t at =
        none ? make_site(reinterpret_cast<std::uintptr_t>(__executable_start), 0, operation::order, current_->depth)
             : write[-1].site;
    *write++ = {(at & ~(std::uint64_t{0xffff} << 32)) | (static_cast<std::uint64_t>(operation::order) << 40), record};
  }

  // ---- fibers.cpp
  static void watch_crashes();
  static void fiber_main(context::transfer_t from);
  void enter();
  fiber_stack* take_stack();
  void activate(thread_state& thread);
  std::uint64_t resume(thread_state& thread);
  bool finish_and_take_next();
  static bool may_spin(const thread_state& t) { return t.as_before || t.alone >= steps_before_look; }
  bool look(std::uintptr_t frame);
  void remember_state(thread_state& thread, const lane_records& records);
  [[gnu::always_inline]] void leave(std::uintptr_t frame) {
    current_->frame = frame;
    looked_at_ = recording_ && (look_ || (current_->now == state::ready && may_spin(*current_))) && look(frame);
    jump();
  }
  void jump() {
    const context::transfer_t back = context::jump_fcontext(scheduler_, nullptr);
    scheduler_ = back.fctx;
  }

  // ---- debugger.cpp
  unsigned lanes_in_step(unsigned first, unsigned count);

  // ---- warps.cpp
  bool settle_collectives(unsigned first, unsigned count);
  bool release_any_lanes(unsigned first, unsigned count);
  void complete(unsigned first, unsigned participants);
  unsigned warp_first() const { return (current_number_ / 32) * 32; }

  // ---- merge.cpp
  bool merge_order(unsigned first, const access** head, unsigned here, unsigned syncing, unsigned ordering);
  bool put_together(unsigned first, unsigned count, bool all);
  void check_index(std::uint64_t site, unsigned lane, const access* next, const access* end, std::uint64_t index);

  char* stack_memory_;
  std::size_t stacks_made_ = 0;
  std::deque<fiber_stack> stacks_;
  std::vector<fiber_stack*> free_stacks_;
  context::fcontext_t scheduler_ = nullptr;
  grid_run* grid_ = nullptr;
  block_schedule::turn turn_;  // the current turn: its counts have not been added yet
  observer observer_;
  std::vector<access> record_memory_ = std::vector<access>(lanes_per_warp * record_stride);
  std::array<lane_records, lanes_per_warp> records_;
  running_block* block_ = nullptr;
  std::deque<std::unique_ptr<running_block>> spare_blocks_;
  std::vector<std::unique_ptr<running_block>> returned_;  // blocks whose clusters have not ended
  thread_state* current_ = nullptr;
  bool observing_ = true;  // the block is observed
  bool recording_ = true;  // the thread's accesses are recorded; in an unobserved block, to check the thread
  unsigned turns_ = 0;
  bool looked_at_ = false;           // the thread was checked when it yielded
  std::uintptr_t caller_stack_ = 0;  // of the kernel's code, set when the thread is checked
  std::array<std::uint64_t, std::initializer_list<int>{SIM_KEPT_REGISTERS}.size() + 1> caller_registers_{};
  unsigned warp_first_ = 0;                           // of the warp that is being merged
  unsigned current_number_ = 0;                       // linear index of current_ in its block
  bool kernel_aborted_ = false, progressed_ = false;  // since the last round over the block's warps
  bool block_progressed_ = false;                     // since it was resumed
  bool pausing_ = false;                              // the warp must yield once its lanes have met
  std::uintptr_t flags_ = 0;
  std::uintptr_t image_begin_ = 0;  // start and size of the launch's shared memory
  std::size_t image_bytes_ = 0;
  int leader_ = -1;    // under a debugger: the thread that may stop at the next line
  bool look_ = false;  // also check for loops through warp functions and barriers
};

}  // namespace sim
