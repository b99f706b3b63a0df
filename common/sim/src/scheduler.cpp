// Runs a grid. A worker, one OS thread, runs whole blocks; a block's threads are fibers that run one after another up
// to the next barrier or warp function. What the lanes of a warp accessed in between is then put together, warp
// instruction by warp instruction, and given to the observer. A block whose threads all wait for others outside it is
// set aside, with its shared memory, and the worker goes on with another.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>

#include "worker.hpp"

// The coordinates that kernels read; declared const in sim/device.h.
__thread uint3 threadIdx;
__thread uint3 blockIdx;
__thread uint3 blockDim;  // there sim::dimensions, of the same layout
__thread uint3 gridDim;

// Ours lie beside them: worker::run knows the two together.
__thread sim::worker* sim_active_worker = nullptr;
__thread sim::worker* sim_running_worker = nullptr;
__thread std::jmp_buf* sim_asking = nullptr;
__thread std::uintptr_t sim_answer = 0;

namespace sim {

// ---- fibers ---------------------------------------------------------------------------------------------------------

worker::worker() {
  stack_memory_ = static_cast<char*>(mmap(nullptr, max_stacks * stack_bytes, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0));
  if (stack_memory_ == MAP_FAILED) std::abort();
  stacks_begin = reinterpret_cast<std::uintptr_t>(stack_memory_);
  for (std::size_t i = 0; i < lanes_per_warp; ++i)
    records_[i].begin = records_[i].read = records_[i].write = record_memory_.data() + i * record_stride;
}

void worker::enter() {
  sim_running_worker = this;
  sim_active_worker = observing ? this : nullptr;
}

fiber_stack* worker::take_stack() {
  if (!free_stacks_.empty()) {
    fiber_stack* stack = free_stacks_.back();
    free_stacks_.pop_back();
    return stack;
  }
  const std::size_t i = stacks_made_++;
  if (i >= max_stacks) {
    std::fprintf(stderr, "simulated device: more than %zu threads wait for others; launch a smaller grid\n",
                 max_stacks);
    std::_Exit(71);
  }
  // A page that faults below each of the first stacks; the system has not got enough of them for all.
  if (i < max_threads) mprotect(stack_memory_ + i * stack_bytes, 4096, PROT_NONE);
  // Tops at different offsets in a page, or all of them would fall into the same cache sets.
  stacks_.push_back({stack_memory_ + (i + 1) * stack_bytes - (i % 64) * 64, nullptr});
  return &stacks_.back();
}

void worker::activate(thread_state& thread) {
  current_ = &thread;
  current_number_ = static_cast<unsigned>(&thread - threads().data());
  threadIdx = thread.index;
  lane_records& records = records_[lane_number()];
  write = records.write;
  write_end = records.begin + record_capacity;
  stack_top = reinterpret_cast<std::uintptr_t>(thread.stack->top);
  thread.now = state::ready;
}

void worker::resume(thread_state& thread) {
  if (!thread.stack) {
    thread.stack = take_stack();
    if (!thread.stack->context)
      thread.stack->context = context::make_fcontext(thread.stack->top, stack_bytes - 8192, &worker::fiber_main);
  }
  fiber_stack* stack = thread.stack;
  activate(thread);
  enter();
  const context::transfer_t back = context::jump_fcontext(stack->context, this);
  sim_active_worker = sim_running_worker = nullptr;
  stack->context = back.fctx;
  lane_records& records = records_[lane_number()];
  records.write = write;
  current_->depth = last_depth();
  if (current_->now == state::done) {  // the fiber went through fresh lanes and none is left
    current_->stack = nullptr;
    free_stacks_.push_back(stack);
  }
  if (current_->now == state::ready || (look_ && current_->now != state::done)) {
    remember_state(*current_, records);
  } else {
    current_->as_before = false;
    got_further_ = true;
  }
}

/// A thread that looks as it did before - its stack, its registers, and what it has just read - goes round in a circle:
/// it waits for somebody to change what it reads.
void worker::remember_state(thread_state& thread, const lane_records& records) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  const auto mix = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x9e37'79b9'7f4a'7c15 + (hash >> 29); };
  for (auto at = reinterpret_cast<std::uintptr_t>(thread.stack->context); at + 8 <= stack_top; at += 8)
    mix(*reinterpret_cast<const std::uint64_t*>(at));
  const std::ptrdiff_t recent = std::min<std::ptrdiff_t>(records.write - records.begin, 32);
  for (const access* a = records.write - recent; a != records.write; ++a)
    if (site_operation(a->site) <= operation::atomic && a->address % word_bytes == 0 && site_bytes(a->site) >= 4) {
      mix(a->address);
      mix(__atomic_load_n(reinterpret_cast<const std::uint32_t*>(a->address), __ATOMIC_RELAXED));
    }
  if (block_->pasts.empty()) block_->pasts.resize(threads().size());
  past& been_in = block_->pasts[static_cast<std::size_t>(&thread - threads().data())];
  thread.as_before = std::find(been_in.begin(), been_in.end(), hash) != been_in.end();
  if (thread.as_before) {
    block_->waits = true;
    if (thread.now == state::ready) {
      thread.now = state::waiting;
      thread.waits_at = recent > 0 ? site_pc(records.write[-1].site) : 0;
    }
    return;
  }
  got_further_ = true;
  std::rotate(been_in.begin(), been_in.begin() + 1, been_in.end());
  been_in.back() = hash;
}

void worker::fiber_main(context::transfer_t from) {
  auto* self = static_cast<worker*>(from.data);
  self->scheduler_ = from.fctx;
  for (;;) {
    self->grid_->body(self->grid_->frame);
    if (!self->finish_and_take_next()) self->leave();
  }
}

/// The thread has returned. Its fiber goes on with the next lane of the warp where that has not begun yet.
bool worker::finish_and_take_next() {
  current_->now = state::done;
  got_further_ = true;
  records_[lane_number()].write = write;
  const unsigned next = current_number_ + 1;
  if (next % lanes_per_warp == 0 || next == threads().size() || threads()[next].now != state::fresh) return false;
  std::swap(threads()[next].stack, current_->stack);
  activate(threads()[next]);
  return true;
}

// ---- one block ------------------------------------------------------------------------------------------------------

void worker::begin_block(running_block& block, std::uint64_t number) {
  const configuration& config = grid_->what->config;
  block.number = number;
  block.counted = 0;
  block.waits = false;
  block.pasts.clear();
  block.threads.resize(std::size_t{config.block.x} * config.block.y * config.block.z);
  unsigned x = 0, y = 0, z = 0;
  for (thread_state& t : block.threads) {
    t.index = {x, y, z};
    t.now = state::fresh;
    t.stack = nullptr;
    t.as_before = false;
    t.depth = 0;
    if (++x == config.block.x) {
      x = 0;
      if (++y == config.block.y) {
        y = 0;
        ++z;
      }
    }
  }
  observer_.begin_block(block.shadow, (block.threads.size() + lanes_per_warp - 1) / lanes_per_warp);
}

void worker::set_aside(running_block& block) {
  block.shared_image.clear();
  for (const shared_array& array : observer_.arrays()) {
    const char* begin = reinterpret_cast<const char*>(__builtin_thread_pointer()) + array.offset;
    block.shared_image.insert(block.shared_image.end(), begin, begin + array.bytes);
  }
}

void worker::bring_back(running_block& block) {
  const char* from = block.shared_image.data();
  for (const shared_array& array : observer_.arrays()) {
    std::memcpy(reinterpret_cast<char*>(__builtin_thread_pointer()) + array.offset, from, array.bytes);
    from += array.bytes;
  }
  observer_.go_on_with(block.shadow);
}

/// Runs the block until it has finished or none of its threads can go on.
outcome worker::go_on_with(running_block& block) {
  block_ = &block;
  const dim3 grid = grid_->what->config.grid;
  blockIdx = {static_cast<unsigned>(block.number % grid.x), static_cast<unsigned>(block.number / grid.x % grid.y),
              static_cast<unsigned>(block.number / grid.x / grid.y)};
  observing = block.number % grid_->sample == 0;
  block_got_further_ = false;
  const auto count = static_cast<unsigned>(block.threads.size());
  for (unsigned round = 1;; ++round) {
    got_further_ = false;
    look_ = block.waits || round % look_every == 0;
    for (unsigned first = 0; first < count; first += lanes_per_warp)
      run_warp(first, std::min<unsigned>(lanes_per_warp, count - first));
    if (broken_off_) break;
    block_got_further_ |= got_further_;
    if (release_barrier()) {
      if (got_further_ || !block.waits) continue;
      return outcome::waits_for_others;
    }
    unsigned done = 0, waiting = 0, at_grid = 0;
    for (thread_state& t : block.threads) {
      done += t.now == state::done;
      at_grid += t.now == state::at_grid_barrier;
      waiting += t.now == state::waiting;
    }
    if (done == count) {
      if (observing) observer_.end_block();
      return outcome::finished;
    }
    if (at_grid > 0 && at_grid + done == count) return outcome::waits_for_grid;
    if (waiting == 0) {
      report_stuck();
      break;
    }
    for (thread_state& t : block.threads)
      if (t.now == state::waiting) t.now = state::ready;
    if (!got_further_) return outcome::waits_for_others;
  }
  broken_off_ = false;
  return outcome::broken_off;
}

/// Runs the warp until each lane waits at the block's barrier, waits in vain for others, or has returned.
void worker::run_warp(unsigned first, unsigned count) {
  const bool look = look_;
  bool meeting = false;  // a lane waits in a warp function
  for (unsigned lane = 0; lane < count; ++lane) meeting |= threads()[first + lane].now == state::at_collective;
  bool rest = false;  // accesses that wait for other lanes'
  unsigned turn = 1;
  for (bool again = true; again && !broken_off_; ++turn) {
    bool moved = false, new_state = false;
    look_ = look || turn % look_every == 0;
    for (unsigned lane = 0; lane < count && !broken_off_; ++lane) {
      thread_state& t = threads()[first + lane];
      if ((t.now != state::fresh && t.now != state::ready) || records_[lane].full()) continue;
      resume(t);
      moved = true;
      new_state |= !current_->as_before;
      meeting |= current_->now == state::at_collective;  // a later lane, where fresh ones went on in its fiber
    }
    rest = put_together(first, count, false);
    if (meeting) moved |= settle_collectives(first, count);
    again = false;
    for (unsigned lane = 0; moved && lane < count; ++lane) {
      state& now = threads()[first + lane].now;
      if (now == state::ready && look_ && !new_state) now = state::waiting;
      again |= now == state::ready;
    }
  }
  look_ = look;
  if (rest) put_together(first, count, true);
}

/// All threads wait at a barrier: lets them go on. False where none waits, or where not all live ones do.
bool worker::release_barrier() {
  std::size_t waiting = 0, done = 0;
  const thread_state* waits = nullptr;
  for (const thread_state& t : threads()) {
    done += t.now == state::done;
    if (t.now == state::at_barrier) {
      ++waiting;
      if (!waits) waits = &t;
    }
  }
  if (waiting == 0 || waiting + done != threads().size()) return false;
  if (done > 0) {
    const auto number = static_cast<std::uint32_t>(waits - threads().data());
    observer_.report(fault::divergent_barrier, waiting_site(*waits), space::shared, {block_->number, number}, 0, 0,
                     std::to_string(waiting) + " of " + std::to_string(threads().size()) + " threads wait at it, " +
                         std::to_string(done) + " have returned");
  }
  if (observing) observer_.counts().barriers += (waiting + lanes_per_warp - 1) / lanes_per_warp;
  observer_.barrier();
  for (thread_state& t : threads())
    if (t.now == state::at_barrier) t.now = state::ready;
  block_->released_count = std::exchange(block_->counted, 0);
  return true;
}

/// Some threads wait for others of their block that will never come.
void worker::report_stuck() {
  for (unsigned i = 0; i < threads().size(); ++i) {
    const thread_state& t = threads()[i];
    if (t.now != state::at_collective) continue;
    std::string missing;
    const unsigned first = i / 32 * 32;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (!((t.mask >> lane) & 1) ||
          (first + lane < threads().size() && threads()[first + lane].now == state::at_collective &&
           threads()[first + lane].waits_at == t.waits_at))
        continue;
      missing += (missing.empty() ? "" : ", ") + std::to_string(lane);
    }
    observer_.report(fault::missing_lane, waiting_site(t), space::shared, {block_->number, i}, 0, 0,
                     "its mask names lanes that never come: " + missing);
    return;
  }
  for (unsigned i = 0; i < threads().size(); ++i)
    if (threads()[i].now == state::at_barrier || threads()[i].now == state::at_grid_barrier) {
      observer_.report(fault::divergent_barrier, waiting_site(threads()[i]), space::shared, {block_->number, i}, 0, 0,
                       threads()[i].now == state::at_barrier ? "not all threads of the block reach it"
                                                             : "other threads of the block wait elsewhere");
      return;
    }
}

void worker::report_infinite_wait(const running_block& block) {
  for (const thread_state& t : block.threads)
    if (t.as_before && t.now != state::done) {
      observer_.report(fault::infinite_wait, waiting_site(t), space::global,
                       {block.number, static_cast<std::uint32_t>(&t - block.threads.data())}, 0, 0);
      return;
    }
}

void worker::abandon(running_block& block) {
  for (thread_state& t : block.threads)
    if (t.stack) {
      t.stack->context = nullptr;
      free_stacks_.push_back(t.stack);
      t.stack = nullptr;
    }
  for (lane_records& r : records_) r.read = r.write = r.begin;
}

/// What stops a kernel on a GPU stops it here, before the access is made.
void worker::break_off(fault what, std::uint64_t site, std::uintptr_t address, const std::string& detail) {
  sim_active_worker = sim_running_worker = nullptr;
  report_here(what, site, address - shared_begin < shared_bytes ? space::shared : space::global, address, detail);
  broken_off_ = true;
  leave();  // for good: the scheduler abandons this fiber
  __builtin_unreachable();
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

void worker::run(grid_run& grid) {
  grid_ = &grid;
  const configuration& config = grid.what->config;
  gridDim = config.grid;
  blockDim = config.block;
  const auto thread_pointer = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  observer_.begin_launch(grid.epoch, thread_pointer, config.dynamic_shared_bytes, grid.concurrent);
  shared_begin = thread_pointer + static_cast<std::uintptr_t>(thread_storage_offset());
  shared_bytes = thread_storage_bytes();
  const std::uintptr_t coordinates[] = {
      // and our own variables beside them
      reinterpret_cast<std::uintptr_t>(&threadIdx),         reinterpret_cast<std::uintptr_t>(&blockIdx),
      reinterpret_cast<std::uintptr_t>(&blockDim),          reinterpret_cast<std::uintptr_t>(&gridDim),
      reinterpret_cast<std::uintptr_t>(&sim_active_worker), reinterpret_cast<std::uintptr_t>(&sim_running_worker),
      reinterpret_cast<std::uintptr_t>(&sim_asking),        reinterpret_cast<std::uintptr_t>(&sim_answer)};
  coordinates_begin = *std::min_element(std::begin(coordinates), std::end(coordinates));
  coordinates_bytes =
      *std::max_element(std::begin(coordinates), std::end(coordinates)) + sizeof(uint3) - coordinates_begin;
  frame_begin = reinterpret_cast<std::uintptr_t>(grid.frame);
  frame_bytes = grid.frame_bytes;
  if (!run_blocks()) grid.abort = true;
  grid.workers_stand.gone();
  grid.grid_barrier.notify_all();
  if (stacks_made_ > max_threads) {  // after a cooperative launch
    madvise(stack_memory_ + max_threads * stack_bytes, (stacks_made_ - max_threads) * stack_bytes, MADV_DONTNEED);
    for (std::size_t i = max_threads; i < stacks_made_; ++i) stacks_[i].context = nullptr;
  }

  static std::mutex merging;
  const std::scoped_lock lock(merging);
  grid.what->static_shared_bytes = std::max(grid.what->static_shared_bytes, observer_.static_shared_bytes());
  grid.what->counts.add(observer_.take());
}

/// Takes blocks until there are no more. False where the kernel has to end.
bool worker::run_blocks() {
  std::deque<running_block*> waiting;  // in the order in which they began
  const auto give_back = [&](running_block* block) { spare_blocks_.emplace_back(block); };
  const auto give_up = [&] {
    for (running_block* block : waiting) {
      abandon(*block);
      give_back(block);
    }
    return false;
  };
  for (;;) {
    while (!grid_->abort) {
      const std::uint64_t number = grid_->next_block++;
      if (number >= grid_->blocks) break;
      if (spare_blocks_.empty()) spare_blocks_.push_back(std::make_unique<running_block>());
      running_block* block = spare_blocks_.back().release();
      spare_blocks_.pop_back();
      begin_block(*block, number);
      const outcome end = go_on_with(*block);
      grid_->workers_stand.got_further();
      if (end == outcome::finished) {
        ++grid_->finished_blocks;
        give_back(block);
      } else if (end == outcome::broken_off) {
        waiting.push_back(block);
        return give_up();
      } else {
        set_aside(*block);
        waiting.push_back(block);
      }
    }
    if (grid_->abort) return give_up();
    if (waiting.empty()) return true;
    // All blocks have begun: go round among those that wait.
    const std::uint64_t before = grid_->workers_stand.progress();
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
        if (block_got_further_) grid_->workers_stand.got_further();
        set_aside(*block);
      }
      if (end == outcome::broken_off || grid_->abort) return give_up();
      waiting.pop_front();
      all_at_grid_barrier &= end != outcome::waits_for_others;
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
    } else if (stuck(before, waiting)) {
      return give_up();
    }
  }
}

/// None of this worker's blocks has got any further. Waits for other workers' blocks; true where those are stuck too.
bool worker::stuck(std::uint64_t progress, const std::deque<running_block*>& waiting) {
  standing& all = grid_->workers_stand;
  if (!all.idle(progress)) return false;
  while (!grid_->abort && !all.all_idle(grid_->workers)) {
    if (all.progress() != progress) return false;
    std::this_thread::yield();
  }
  if (all.progress() != progress && !grid_->abort) return false;
  if (all.all_idle(grid_->workers))
    for (const running_block* block : waiting) report_infinite_wait(*block);
  return true;
}

/// Waits until all blocks of the grid are there.
bool worker::pass_grid_barrier(std::deque<running_block*>& waiting) {
  std::unique_lock lock(grid_->mutex);
  const std::uint64_t round = grid_->grid_barriers;
  grid_->workers_stand.at_grid_barrier();
  while (round == grid_->grid_barriers && !grid_->workers_stand.all_at_grid_barrier(grid_->workers) && !grid_->abort)
    grid_->grid_barrier.wait_for(lock, std::chrono::milliseconds(1));
  if (grid_->abort) return false;
  if (round == grid_->grid_barriers) {  // the first to see that all are there
    if (grid_->finished_blocks > 0) {
      const thread_state& t = waiting.front()->threads.front();
      observer_.report(fault::divergent_barrier, waiting_site(t), space::shared, {waiting.front()->number, 0}, 0, 0,
                       std::to_string(grid_->finished_blocks.load()) + " blocks of the grid have returned");
      grid_->abort = true;
      return false;
    }
    grid_->workers_stand.pass_grid_barrier();
    grid_->epoch = sim::begin_epoch();
    ++grid_->grid_barriers;
    grid_->grid_barrier.notify_all();
  }
  observer_.begin_epoch(grid_->epoch);
  for (running_block* block : waiting)
    for (thread_state& t : block->threads)
      if (t.now == state::at_grid_barrier) t.now = state::ready;
  return true;
}

void worker::grid_barrier(std::uintptr_t pc) {
  current_->waits_at = pc;
  if (!grid_->what->config.cooperative) break_off(fault::not_cooperative, make_site(pc, 0, operation::load), 0);
  current_->now = state::at_grid_barrier;
  leave();
}

// ---- the pool -------------------------------------------------------------------------------------------------------

namespace {

class pool {
 public:
  pool() {
    const char* wanted = std::getenv("SIM_THREADS");
    unsigned count =
        wanted ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : std::thread::hardware_concurrency();
    count = std::clamp(count, 1u, 64u);
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
    end_.wait(lock, [this] { return working_ == 0; });
  }

 private:
  void serve() {
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
      if (--working_ == 0) end_.notify_one();
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

}  // namespace

std::uint64_t sampling() {
  static const std::uint64_t every = [] {
    const char* wanted = std::getenv("SIM_SAMPLE");
    return std::max<std::uint64_t>(wanted ? std::strtoull(wanted, nullptr, 10) : 1, 1);
  }();
  return every;
}

std::uint16_t begin_epoch() {
  static std::uint16_t epoch = 0;
  if (++epoch == 0) {
    madvise(shadow().sectors, heap_bytes / sector_bytes * sizeof(sector_shadow), MADV_DONTNEED);
    epoch = 1;
  }
  return epoch;
}

void run_blocks(launched& what, void (*body)(void*), void* frame, std::size_t frame_bytes,
                const std::bitset<65536>* concurrent) {
  static pool workers;
  grid_run grid;
  grid.what = &what;
  grid.body = body;
  grid.frame = frame;
  grid.frame_bytes = frame_bytes;
  grid.concurrent = concurrent;
  what.first_epoch = begin_epoch();
  grid.epoch = what.first_epoch;
  grid.blocks = std::uint64_t{what.config.grid.x} * what.config.grid.y * what.config.grid.z;
  // At least eight blocks are observed.
  grid.sample = what.config.cooperative ? 1 : std::clamp<std::uint64_t>(grid.blocks / 8, 1, sampling());
  workers.run(grid);
  what.observed_blocks = (grid.blocks + grid.sample - 1) / grid.sample;
  if (grid.sample > 1) what.counts.scale(static_cast<double>(grid.blocks) / static_cast<double>(what.observed_blocks));
  what.aborted = grid.abort;
  what.last_epoch = grid.epoch;
}

}  // namespace sim
