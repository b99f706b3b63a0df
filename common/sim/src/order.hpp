// Orders the accesses of a block's threads if they exchange data by anything finer than __syncthreads(): fences with
// atomics or volatile variables, cuda::atomic, cuda::barrier, named barriers.
//
// Vector clocks. A thread's clock counts its releases and warp functions; an access carries its thread's clock. A
// thread's knowledge holds, for each thread of the block, the clock before which it has seen everything. Threads run
// ahead of their records, so each clock exists twice: one advances as the thread runs, one as its records are merged.
// Operations that change a thread's knowledge are recorded between its accesses.
//
// Until a block's first fence or release, and again from its next __syncthreads() on, only the clocks are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace sim {

/// Recorded after a thread has waited for the previous kernel (cudaGridDependencySynchronize).
constexpr std::uint64_t waited_for_kernel_before = ~std::uint64_t{0};
/// Recorded when a thread lets the next kernel begin (cudaTriggerProgrammaticLaunchCompletion).
constexpr std::uint64_t let_next_kernel_begin = ~std::uint64_t{1};

class block_order {
 public:
  using clocks = std::vector<std::uint32_t>;  ///< by thread of the block
  using knowledge = std::shared_ptr<clocks>;  ///< null: knows nothing of other threads

  void begin_block(std::size_t threads);
  void abandon_block() { *this = {}; }  ///< before its threads have returned
  void barrier();                       ///< afterwards all threads know all earlier accesses
  bool active() const { return active_; }
  /// Whether the lane's clock equals its warp's.
  bool even() const { return even_ && !active_; }
  /// The clock of the running thread.
  std::uint32_t latest(std::size_t thread) const { return clock_[thread]; }

  // ---- as the threads run. Record the results for the thread; 0: nothing to record.

  /// `flag`: the place of the handover, an address or another number.
  std::uint64_t release(std::size_t thread, std::uintptr_t flag);
  std::uint64_t acquire(std::size_t thread, std::uintptr_t flag);
  /// A fence, and accesses to a flag, which make it effective. A load takes effect at the next fence, an atomic at
  /// once: locks often omit the fence after it.
  std::uint64_t fence(std::size_t thread);
  void load_flag(std::size_t thread, std::uintptr_t flag);
  void store_flag(std::size_t thread, std::uintptr_t flag);
  std::uint64_t update_flag(std::size_t thread, std::uintptr_t flag);
  /// Also releases to `to` everything that was released to `from`.
  void pass_on(std::uintptr_t from, std::uintptr_t to);
  /// The lanes of a warp meet. Each then records what `met` returns.
  void meet(std::size_t first, unsigned lanes);
  std::uint64_t met(std::size_t thread);

  // ---- as records are merged

  std::uint32_t clock(std::size_t thread) const { return merged_clock_[thread]; }
  void merge_meeting(std::size_t thread) { ++merged_clock_[thread]; }
  void merge(std::size_t thread, std::uint64_t record);
  /// The clock that the thread has after this record.
  static std::uint32_t clock_after(std::uint64_t record) { return static_cast<std::uint32_t>(record); }
  /// The thread's knowledge after this record; null: unchanged.
  const clocks* known_after(std::uint64_t record) const;
  /// Whether `to`, accessing later, knows the access that `from` made at this clock.
  bool ordered(std::size_t from, std::uint32_t at, std::size_t to) const {
    if (!active_) return false;
    const knowledge& known = threads_[to].merged;
    return known && at < (*known)[from];
  }

 private:
  struct view {
    bool just_met = false;
    knowledge known, merged;
    knowledge fenced;  ///< what its last fence released
    knowledge seen;    ///< in flags; the next fence acquires it
  };
  void start();
  std::uint64_t record(std::size_t thread, const knowledge& now_known);
  bool learn(view& t, const knowledge& more);

  clocks clock_, merged_clock_;
  std::vector<view> threads_;  ///< once active
  bool active_ = false;
  bool even_ = true;                                         ///< in this block each warp's lanes have had equal clocks
  std::unordered_map<std::uintptr_t, knowledge> released_;   ///< by flag
  std::unordered_map<std::uint32_t, knowledge> in_records_;  ///< by the upper half of a record
  std::uint32_t last_record_ = 0;
};

}  // namespace sim
