// With SIM_BUDGET=SECONDS, decides how much of each launch runs (./course run --budget); with SIM_SCHEDULE=N, in what
// order
// (--schedule).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "launches.hpp"

namespace sim {

/// Which of a launch's blocks run, and in what order: all of them, unless they would take longer than `seconds`. Then
/// only every 2nd, 4th, 8th ... of the remaining blocks runs, and the last.
class block_schedule {
 public:
  struct turn {
    std::uint64_t number = 0, stands_for = 0;  ///< the block, and how many its counts represent; 0: no more
    bool apart = false;                        ///< blocks have been skipped: count each separately
    bool last = false;                         ///< may differ from the others
  };
  block_schedule(std::uint64_t blocks, double seconds) : blocks_(blocks), seconds_(seconds) {}
  /// One turn runs `together` blocks: a cluster. Until blocks are skipped, turns may come in another order.
  turn next(std::uint64_t together);
  bool thinned() const { return thinned_; }
  double share_begun() const { return std::min(1.0, static_cast<double>(next_) / static_cast<double>(blocks_)); }
  std::uint64_t blocks_run() const { return run_; }
  /// Adds the counts of one turn if `alone`, or of all blocks before any was skipped. Call it under a lock.
  void note(const launch_counts& counted, const turn& of, bool alone);
  /// For each counter, by name: whether all blocks, except perhaps the last, had the same count.
  std::map<std::string, bool> same() const;

 private:
  using clock = std::chrono::steady_clock;
  using numbers = std::array<std::uint64_t, 5>;
  void thin_out(std::uint64_t together);

  std::uint64_t blocks_;
  double seconds_;
  clock::time_point begin_ = clock::now();
  std::atomic<std::uint64_t> next_{0}, stride_{1}, run_{0}, turns_{0}, turns_before_{0};
  std::atomic<bool> thinned_{false}, last_to_come_{false};
  // For the blocks that were counted separately, and for those before:
  struct range {
    numbers low, high;
    std::uint64_t blocks = 0;
  };
  std::map<std::string, range> apart_;
  std::map<std::string, numbers> before_;
  std::uint64_t blocks_apart_ = 0;
  bool mixed_ = false;
};

/// A number below `choices`, drawn with SIM_SCHEDULE for this block and round; 0 without it.
std::uint64_t drawn(std::uint64_t choices, std::uint64_t block = 0, std::uint64_t round = 0);
/// Whether SIM_SCHEDULE is set: one worker then runs all blocks, so that a run can be repeated.
bool is_order_drawn();

/// The seconds that the launch may take; infinite without SIM_BUDGET.
double seconds_for(const launched& what);
/// Once the budget is used up: the last launch that ran with the same kernel, grid and blocks; otherwise null.
const launched* instead_of(const launched& what);
void note_run(const launched& what);
/// SIM_BUDGET; 0 if there is none.
double budget_seconds();
/// True once blocks or launches have been skipped: memory lacks their results.
bool memory_is_partial();
void note_partial_memory();

}  // namespace sim
