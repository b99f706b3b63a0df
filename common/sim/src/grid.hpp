// A launch's grid, shared by the workers that run its blocks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "budget.hpp"
#include "heap.hpp"
#include "launches.hpp"

namespace sim {

/// The progress of a grid's workers in one word: a count that grows whenever the grid advances, and how many workers
/// have since run out of blocks, wait at a grid-wide barrier, or have no block that can continue.
class worker_progress {
 public:
  std::uint64_t steps() const { return word_.load() >> 24; }
  void advance() {
    change([](std::uint64_t w) { return ((w >> 24) + 1) << 24 | (w & 0xffff00); });
  }
  void gone() { word_ += 0x10000; }
  void at_grid_barrier() { word_ += 0x100; }
  void pass_grid_barrier() {
    change([](std::uint64_t w) { return ((w >> 24) + 1) << 24 | (w & 0xff0000); });
  }
  /// False if the grid has advanced beyond `progress`.
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
  grid_run(std::uint64_t all, double seconds) : blocks(all), schedule(all, seconds) {}
  launched* what = nullptr;
  void (*body)(void*) = nullptr;
  void* frame = nullptr;
  std::size_t frame_bytes = 0;
  std::atomic<std::uint16_t> epoch{0};
  overlapping others;
  std::uint64_t blocks;
  block_schedule schedule;
  std::uint64_t sample = 1;  // one block in `sample` is observed
  std::atomic<bool> abort{false};
  std::atomic<bool> given_up{false};     // its blocks wait for blocks that do not run
  std::atomic<bool> in_clusters{false};  // the kernel declares a cluster shape that it needs
  dim3 cluster;
  // Blocks that wait for each other:
  worker_progress progress;
  unsigned workers = 0;
  std::mutex mutex;
  std::condition_variable grid_barrier;
  std::uint64_t grid_barriers = 0;
  std::atomic<std::uint64_t> finished_blocks{0};
};

/// Whether the calling thread runs blocks; signal handlers may ask.
bool is_worker();
/// The epoch of work that starts now. Epochs count from 1 to 65535, then start over.
std::uint16_t begin_epoch();
/// One block in this many is observed (SIM_SAMPLE); 1: all. With a budget, all blocks that run are observed.
std::uint64_t sampling();
/// Starts the worker threads; otherwise the first launch does.
void start_workers();
/// Stops the running grid's blocks. Returns its launch with the counts so far; null if no grid is running.
std::unique_ptr<launched> stop_workers();
/// Runs all blocks and fills `counts`, `aborted` and `static_shared_bytes`.
void run_blocks(launched& what, void (*body)(void*), void* frame, std::size_t frame_bytes, const overlapping& others);

}  // namespace sim
