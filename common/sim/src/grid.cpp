// Runs a grid: the OS threads that run its blocks, and blocks that wait for each other.
#include "grid.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <utility>

#include "debugger.hpp"
#include "hooks.hpp"
#include "host_functions.hpp"
#include "model.hpp"
#include "recording.hpp"
#include "settings.hpp"
#include "status.hpp"
#include "worker.hpp"

/// Whether this thread runs blocks. Outside the namespace: see hooks.hpp.
__thread bool sim_runs_blocks = false;

namespace sim {

std::atomic<bool> workers_stopped = false;

void worker::run(grid_run& grid) {
  grid_ = &grid;
  turn_ = {0, 1, false, false};
  const configuration& config = grid.what->config;
  gridDim = config.grid;
  blockDim = config.block;
  const auto thread_pointer = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  observer_.begin_launch(grid.epoch, thread_pointer, config, grid.others);
  image_begin_ = image_bytes_ = 0;
  for (const shared_array& array : observer_.arrays()) {
    const std::uintptr_t begin = thread_pointer + static_cast<std::uintptr_t>(array.offset);
    if (image_bytes_ == 0) image_begin_ = begin & ~std::uintptr_t{1023};
    image_bytes_ = std::max(image_bytes_, begin + array.bytes - image_begin_);
  }
  shared_begin = thread_pointer + static_cast<std::uintptr_t>(thread_storage_offset());
  shared_bytes = thread_storage_bytes();
  coordinates_begin = ~std::uintptr_t{0};
  std::uintptr_t coordinates_end = 0;
  const auto cover = [&](const auto&... variables) {
    for (const auto& [begin, bytes] : {std::pair{reinterpret_cast<std::uintptr_t>(&variables), sizeof variables}...}) {
      coordinates_begin = std::min(coordinates_begin, begin);
      coordinates_end = std::max(coordinates_end, begin + bytes);
    }
  };
  // Our own variables lie next to the coordinates.
  cover(threadIdx, blockIdx, blockDim, gridDim, sim_active_worker, sim_running_worker, sim_asking, sim_answer,
        sim_host_watch, sim_host_site);
  coordinates_bytes = coordinates_end - coordinates_begin;
  frame_begin = reinterpret_cast<std::uintptr_t>(grid.frame);
  frame_bytes = grid.frame_bytes;
  watch_crashes();
  begin_debugged_launch(*grid.what);
  if (!run_blocks()) grid.abort = true;
  end_debugged_launch();
  for (auto& block : returned_) spare_blocks_.push_back(std::move(block));
  returned_.clear();
  grid.progress.gone();
  grid.grid_barrier.notify_all();
  if (stacks_made_ > max_threads) {  // after a cooperative launch
    madvise(stack_memory_ + max_threads * stack_bytes, (stacks_made_ - max_threads) * stack_bytes, MADV_DONTNEED);
    for (std::size_t i = max_threads; i < stacks_made_; ++i) stacks_[i].context = nullptr;
  }

  settle(false);
}

namespace {
std::mutex merging;  // protects a launch's counts
}  // namespace

/// Adds this worker's counts since its last call.
void worker::settle(bool alone) {
  const std::scoped_lock lock(merging);
  launched& what = *grid_->what;
  what.static_shared_bytes = std::max(what.static_shared_bytes, observer_.static_shared_bytes());
  launch_counts counts = observer_.take();
  if (turn_.stands_for > 0) grid_->schedule.note(counts, turn_, alone);
  if (turn_.stands_for > 1) counts.scale(static_cast<double>(turn_.stands_for));
  what.counts.add(counts);
  turn_.stands_for = 0;
}

/// The number of the grid's blocks that a GPU runs at the same time.
std::uint64_t worker::resident_blocks() const {
  const configuration& c = grid_->what->config;
  const auto threads = static_cast<int>(c.block.x * c.block.y * c.block.z);
  const std::size_t bytes = observer_.static_shared_bytes() + c.dynamic_shared_bytes;
  const int fit = std::max(1, occupancy_of(threads, grid_->what->registers, bytes).blocks());
  return static_cast<std::uint64_t>(fit) * static_cast<std::uint64_t>(described_device().multiprocessors);
}

/// Runs blocks until there are no more. False if the kernel must end.
bool worker::run_blocks() {
  std::deque<running_block*> waiting;  // in the order in which they started
  const auto give_back = [&](running_block* block) { spare_blocks_.emplace_back(block); };
  const auto give_up = [&] {
    for (running_block* block : waiting) {
      abandon(*block);
      give_back(block);
    }
    return false;
  };
  bool looked = false;  // the threads that wait for a phase have checked again
  const std::uint64_t together = std::uint64_t{cluster_shape().x} * cluster_shape().y * cluster_shape().z;
  // Once the waiting blocks fill the device, no other can begin until one of them has ended.
  const auto room = [&] {
    return waiting.empty() || grid_->what->config.cooperative || waiting.size() * grid_->workers < resident_blocks();
  };
  for (;;) {
    while (!grid_->abort && room()) {
      const block_schedule::turn turn = grid_->schedule.next(together);
      if (turn.stands_for == 0) break;
      if (turn.apart && turn_.stands_for > 0) settle(false);
      turn_ = turn;
      const auto settle_if_alone = [&] {
        if (turn.apart && waiting.empty()) settle(true);
      };
      if (together > 1) {
        if (!run_cluster(turn.number / together, waiting)) return give_up();
        settle_if_alone();
        continue;
      }
      if (spare_blocks_.empty()) spare_blocks_.push_back(std::make_unique<running_block>());
      running_block* block = spare_blocks_.back().release();
      spare_blocks_.pop_back();
      block->cluster = nullptr;
      begin_block(*block, turn.number);
      const outcome end = go_on_with(*block);
      grid_->progress.advance();
      if (end == outcome::finished) {
        ++grid_->finished_blocks;
        give_back(block);
      } else if (end == outcome::aborted) {
        waiting.push_back(block);
        return give_up();
      } else {
        set_aside(*block);
        waiting.push_back(block);
      }
      settle_if_alone();
    }
    if (grid_->abort) return give_up();
    if (waiting.empty()) return true;
    // No other block can begin: take turns among those that wait.
    const std::uint64_t before = grid_->progress.steps();
    std::deque<running_block*> still;
    bool all_at_grid_barrier = true;
    while (!waiting.empty()) {
      running_block* block = waiting.front();
      const bool at_grid = std::any_of(block->threads.begin(), block->threads.end(),
                                       [](const auto& t) { return t.now == state::at_grid_barrier; });
      outcome end = outcome::waits_for_grid;
      const bool others = std::any_of(block->threads.begin(), block->threads.end(), [](const auto& t) {
        return t.now != state::at_grid_barrier && t.now != state::done;
      });
      if (!at_grid || others) {
        bring_back(*block);
        end = go_on_with(*block);
        if (block_progressed_) grid_->progress.advance();
        set_aside(*block);
      }
      if (end == outcome::aborted || grid_->abort) return give_up();
      waiting.pop_front();
      all_at_grid_barrier &= end != outcome::waits_for_others && end != outcome::yielded;
      if (end == outcome::finished) {
        ++grid_->finished_blocks;
        give_back(block);
      } else {
        still.push_back(block);
      }
    }
    waiting.swap(still);
    if (waiting.empty()) continue;
    if (all_at_grid_barrier) {
      if (!pass_grid_barrier(waiting)) return give_up();
    } else if (grid_->progress.steps() != before) {
      looked = false;
    } else if (!std::exchange(looked, true)) {
      for (running_block* block : waiting) block->time_out = true;
    } else if (stuck(before, waiting)) {
      return give_up();
    }
  }
}

/// Called when none of this worker's blocks has made progress. Waits for other workers' blocks; true if those are
/// stuck, too.
bool worker::stuck(std::uint64_t progress, const std::deque<running_block*>& waiting) {
  worker_progress& all = grid_->progress;
  if (!all.idle(progress)) return false;
  while (!grid_->abort && !all.all_idle(grid_->workers)) {
    if (workers_stopped) stay_stopped();
    if (all.steps() != progress) return false;
    std::this_thread::yield();
  }
  if (all.steps() != progress && !grid_->abort) return false;
  if (grid_->schedule.thinned())
    grid_->given_up = true;
  else if (all.all_idle(grid_->workers))
    for (const running_block* block : waiting) report_infinite_wait(*block);
  return true;
}

/// Waits until all blocks of the grid have arrived.
bool worker::pass_grid_barrier(std::deque<running_block*>& waiting) {
  std::unique_lock lock(grid_->mutex);
  const std::uint64_t round = grid_->grid_barriers;
  grid_->progress.at_grid_barrier();
  while (round == grid_->grid_barriers && !grid_->progress.all_at_grid_barrier(grid_->workers) && !grid_->abort) {
    if (workers_stopped) {
      lock.unlock();
      stay_stopped();
    }
    grid_->grid_barrier.wait_for(lock, std::chrono::milliseconds(1));
  }
  if (grid_->abort) return false;
  if (round == grid_->grid_barriers) {  // the first to notice that all have arrived
    if (grid_->finished_blocks > 0) {
      const thread_state& t = waiting.front()->threads.front();
      observer_.report(fault::divergent_barrier, waiting_site(t), space::shared, {waiting.front()->number, 0}, 0, 0,
                       std::to_string(grid_->finished_blocks.load()) + " blocks of the grid have returned");
      grid_->abort = true;
      return false;
    }
    grid_->progress.pass_grid_barrier();
    grid_->epoch = sim::begin_epoch();
    ++grid_->grid_barriers;
    grid_->grid_barrier.notify_all();
  }
  observer_.begin_epoch(grid_->epoch);
  for (running_block* block : waiting) {
    observer_.new_epoch(block->shadow);
    for (thread_state& t : block->threads)
      if (t.now == state::at_grid_barrier) t.now = state::ready;
  }
  return true;
}

void worker::grid_barrier(std::uintptr_t pc, std::uintptr_t frame) {
  current_->waits_at = pc;
  if (!grid_->what->config.cooperative) abort_kernel(fault::not_cooperative, make_site(pc, 0, operation::load), 0);
  current_->now = state::at_grid_barrier;
  leave(frame);
}

// ---- the pool ----------------------------------------------------------------------------------------------------

namespace {

class pool {
 public:
  pool() {
    const char* wanted = setting("SIM_THREADS");
    unsigned count =
        wanted ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : std::thread::hardware_concurrency();
    count = debugged.attached || is_order_drawn() ? 1 : std::clamp(count, 1u, 64u);
    for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~pool() {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
    }
    begin_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  void run(grid_run& grid) {
    std::unique_lock lock(mutex_);
    grid_ = &grid;
    grid.workers = static_cast<unsigned>(threads_.size());
    working_ = static_cast<unsigned>(threads_.size());
    ++generation_;
    begin_.notify_all();
    end_.wait(lock, [this] { return working_ == 0 && !workers_stopped; });
  }
  std::unique_ptr<launched> stop() {
    std::unique_lock lock(mutex_);
    if (working_ == 0) return nullptr;
    workers_stopped = true;
    // A worker may be in a host function, or be the one that aborts.
    end_.wait_for(lock, std::chrono::seconds(1), [this] { return working_ == 0; });
    const std::scoped_lock none_merges(merging);
    return std::make_unique<launched>(*grid_->what);
  }
  [[noreturn]] void leave() {
    {
      const std::scoped_lock lock(mutex_);
      if (--working_ == 0) end_.notify_all();
    }
    for (;;) pause();
  }

 private:
  void serve() {
    sim_runs_blocks = true;
    worker self;
    for (std::uint64_t seen = 0;;) {
      std::unique_lock lock(mutex_);
      begin_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
      grid_run& grid = *grid_;
      lock.unlock();
      self.run(grid);
      lock.lock();
      if (--working_ == 0) end_.notify_all();
    }
  }
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable begin_, end_;
  grid_run* grid_ = nullptr;
  unsigned working_ = 0;
  std::uint64_t generation_ = 0;
  bool stop_ = false;
};

pool& workers() {
  static pool all;
  return all;
}

}  // namespace

void start_workers() { workers(); }
std::unique_ptr<launched> stop_workers() { return workers().stop(); }

void worker::stay_stopped(const stopped_thread* where) {
  settle(false);
  if (where && !where->loop.empty()) {
    const std::scoped_lock lock(merging);
    auto& all = grid_->what->stopped;
    all.insert(std::find_if(all.begin(), all.end(), [&](const auto& other) { return where->block < other.block; }),
               *where);
  }
  workers().leave();
}
bool is_worker() { return sim_runs_blocks; }

std::uint64_t sampling() {
  static const std::uint64_t every = [] {
    if (budget_seconds() > 0) return std::uint64_t{1};
    const char* wanted = setting("SIM_SAMPLE");
    return std::max<std::uint64_t>(wanted ? std::strtoull(wanted, nullptr, 10) : 1, 1);
  }();
  return every;
}

std::uint16_t begin_epoch() {
  static std::uint16_t epoch = 0;
  if (++epoch == 0) {
    madvise(shadow().sectors, heap_bytes / sector_bytes * sizeof(sector_shadow), MADV_DONTNEED);
    madvise(shadow().bytes, heap_bytes / bytes_per_mask * sizeof(sector_shadow), MADV_DONTNEED);
    epoch = 1;
  }
  return epoch;
}

void run_blocks(launched& what, void (*body)(void*), void* frame, std::size_t frame_bytes, const overlapping& others) {
  grid_run grid(std::uint64_t{what.config.grid.x} * what.config.grid.y * what.config.grid.z, seconds_for(what));
  grid.what = &what;
  grid.body = body;
  grid.frame = frame;
  grid.frame_bytes = frame_bytes;
  grid.others = others;
  what.first_epoch = begin_epoch();
  grid.epoch = what.first_epoch;
  // Observe at least eight blocks.
  grid.sample = what.config.cooperative || what.config.cluster.x * what.config.cluster.y * what.config.cluster.z > 1
                    ? 1
                    : std::clamp<std::uint64_t>(grid.blocks / 8, 1, sampling());
  what.recording = begin_recording(what, grid.blocks, grid.sample);
  {
    const shown_launch shown(what.kernel.c_str(), grid.schedule);
    workers().run(grid);
  }
  if (grid.in_clusters) {  // no block has done anything yet
    what.config.cluster = grid.cluster;
    what.counts = {};
    what.aborted = false;
    const dim3 &all = what.config.grid, &shape = grid.cluster;
    const std::uint64_t blocks = std::uint64_t{shape.x} * shape.y * shape.z;
    if (blocks == 0 || blocks > 16 || all.x % shape.x != 0 || all.y % shape.y != 0 || all.z % shape.z != 0) return;
    return run_blocks(what, body, frame, frame_bytes, others);
  }
  if (grid.schedule.thinned()) {
    what.blocks_run = grid.schedule.blocks_run();
    what.same_in_blocks = grid.schedule.same();
  }
  const std::uint64_t observed = (grid.blocks + grid.sample - 1) / grid.sample;
  if (grid.sample > 1) what.counts.scale(static_cast<double>(grid.blocks) / static_cast<double>(observed));
  what.aborted = grid.abort && !grid.given_up;
  what.last_epoch = grid.epoch;
}

}  // namespace sim
