// Runs a grid. A worker, one OS thread, runs whole blocks; a block's threads are fibers that run one after another up
// to the next barrier or warp function. What the lanes of a warp accessed in between is then put together, warp
// instruction by warp instruction, and given to the observer.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>

#include "observer.hpp"

// The coordinates that kernels read; declared const in sim/device.h.
__thread uint3 threadIdx;
__thread uint3 blockIdx;
__thread uint3 blockDim;  // there sim::dimensions, of the same layout
__thread uint3 gridDim;

namespace sim {

namespace {

namespace context = boost::context::detail;

constexpr std::size_t stack_bytes = std::size_t{64} * 1024, max_threads = 1024;
constexpr std::size_t record_capacity = 512;  // accesses of a lane before its warp is put together: fits the L2 cache

struct fiber_stack {
  char* top = nullptr;
  context::fcontext_t context = nullptr;  // where to go on; null: never started, or abandoned
};

enum class state : std::uint8_t { fresh, ready, at_barrier, at_collective, spinning, done };
using combine_function = void (*)(const warp_call&);

struct thread_state {
  uint3 index{};
  state now = state::fresh;
  fiber_stack* stack = nullptr;
  std::uintptr_t waits_at = 0;  // program counter of the barrier or warp function
  // a warp function that this lane waits in:
  unsigned mask = 0;
  void* argument = nullptr;
  combine_function combine = nullptr;
  bool meets(const thread_state& other) const {
    return now == state::at_collective && mask == other.mask && combine == other.combine &&
           (mask != whoever_comes || waits_at == other.waits_at);
  }
};

/// One lane's accesses since its warp was last put together.
struct lane_records {
  std::unique_ptr<access[]> begin{new access[record_capacity]};
  access* read = begin.get();
  access* write = begin.get();
  bool full() const { return write == begin.get() + record_capacity; }
};

}  // namespace

struct grid_run {
  launched* what = nullptr;
  void (*body)(void*) = nullptr;
  void* frame = nullptr;
  std::size_t frame_bytes = 0;
  std::uint8_t epoch = 0;
  std::uint64_t blocks = 0;
  std::atomic<std::uint64_t> next_block{0};
  std::atomic<bool> abort{false};
};

class worker {
 public:
  worker() {
    const std::size_t bytes = max_threads * stack_bytes;
    stack_memory_ = static_cast<char*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0));
    if (stack_memory_ == MAP_FAILED) std::abort();
    stacks_begin = reinterpret_cast<std::uintptr_t>(stack_memory_);
    for (std::size_t i = 0; i < max_threads; ++i) {
      mprotect(stack_memory_ + i * stack_bytes, 4096, PROT_NONE);
      // Tops at different offsets in a page, or all of them would fall into the same cache sets.
      stacks_[i].top = stack_memory_ + (i + 1) * stack_bytes - (i % 64) * 64;
    }
    for (std::size_t i = max_threads; i-- > 0;) free_stacks_.push_back(&stacks_[i]);
  }

  void run(grid_run& grid);

  // ---- called from fibers ----
  void barrier(std::uintptr_t pc) {
    current_->waits_at = pc;
    current_->now = state::at_barrier;
    leave();
  }
  int barrier_count(std::uintptr_t pc, int predicate) {
    counted_ += predicate != 0;
    barrier(pc);
    return released_count_;
  }
  void meet(unsigned mask, void* argument, combine_function combine, std::uintptr_t pc);
  void report_missing_lane(const warp_call& call, unsigned reader, unsigned source);
  unsigned lane_number() const { return current_number_ % lanes_per_warp; }
  void spin() {
    current_->now = state::spinning;
    leave();
  }
  void break_off(fault what, std::uint64_t site, std::uintptr_t address);
  void records_full() { leave(); }

  // ---- read by the hooks ----
  access* write = nullptr;
  access* write_end = nullptr;
  std::uintptr_t shared_begin = 0, shared_bytes = 0, stacks_begin = 0;
  std::uintptr_t frame_begin = 0, frame_bytes = 0, coordinates_begin = 0, coordinates_bytes = 0;

 private:
  static void fiber_main(context::transfer_t from);
  void run_block(std::uint64_t block);
  void run_warp(unsigned first, unsigned count);
  void resume(thread_state& thread);
  void activate(thread_state& thread);
  void leave() {
    const context::transfer_t back = context::jump_fcontext(scheduler_, nullptr);
    scheduler_ = back.fctx;
  }
  bool finish_and_take_next();
  void put_together(unsigned first, unsigned count);
  bool settle_collectives(unsigned first, unsigned count);
  bool settle_whoever_came(unsigned first, unsigned count);
  bool wake_spinning();
  void complete(unsigned first, unsigned participants);
  bool release_barrier();
  void report_stuck();
  void abandon_all();
  unsigned warp_first() const { return (current_number_ / 32) * 32; }
  std::uint64_t barrier_site(const thread_state& t) const { return make_site(t.waits_at, 0, operation::load); }

  char* stack_memory_;
  std::array<fiber_stack, max_threads> stacks_;
  std::vector<fiber_stack*> free_stacks_;
  context::fcontext_t scheduler_ = nullptr;
  grid_run* grid_ = nullptr;
  observer observer_;
  std::array<lane_records, lanes_per_warp> records_;
  std::vector<thread_state> threads_;
  thread_state* current_ = nullptr;
  unsigned current_number_ = 0;  // linear index of current_ in its block
  std::uint64_t block_ = 0;
  int counted_ = 0, released_count_ = 0;
  bool broken_off_ = false;
};

}  // namespace sim

// Not null while this OS thread runs a kernel's own code. Null in the scheduler and in our functions that kernels call:
// the linker may have given us the instrumented copy of a library function such as std::string's, and that is no access
// of the kernel. Outside the namespace: memory.cpp knows it by this name.
__thread sim::worker* sim_active_worker = nullptr;

namespace sim {

// ---- fibers
// -----------------------------------------------------------------------------------------------------------

void worker::activate(thread_state& thread) {
  current_ = &thread;
  current_number_ = static_cast<unsigned>(&thread - threads_.data());
  threadIdx = thread.index;
  lane_records& records = records_[current_number_ % lanes_per_warp];
  write = records.write;
  write_end = records.begin.get() + record_capacity;
  thread.now = state::ready;
}

void worker::resume(thread_state& thread) {
  if (!thread.stack) {
    thread.stack = free_stacks_.back();
    free_stacks_.pop_back();
    if (!thread.stack->context)
      thread.stack->context = context::make_fcontext(thread.stack->top, stack_bytes - 8192, &worker::fiber_main);
  }
  fiber_stack* stack = thread.stack;
  activate(thread);
  sim_active_worker = this;
  const context::transfer_t back = context::jump_fcontext(stack->context, this);
  sim_active_worker = nullptr;
  stack->context = back.fctx;
  records_[current_number_ % lanes_per_warp].write = write;
  if (current_->now == state::done) {  // the fiber went through fresh lanes and none is left
    current_->stack = nullptr;
    free_stacks_.push_back(stack);
  }
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
  records_[current_number_ % lanes_per_warp].write = write;
  const unsigned next = current_number_ + 1;
  if (next % lanes_per_warp == 0 || next == threads_.size() || threads_[next].now != state::fresh) return false;
  std::swap(threads_[next].stack, current_->stack);
  activate(threads_[next]);
  return true;
}

// ---- one block
// --------------------------------------------------------------------------------------------------------

void worker::run(grid_run& grid) {
  grid_ = &grid;
  const configuration& config = grid.what->config;
  gridDim = config.grid;
  blockDim = config.block;
  const auto thread_pointer = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  observer_.begin_launch(grid.epoch, thread_pointer, config.dynamic_shared_bytes);
  shared_begin = thread_pointer + static_cast<std::uintptr_t>(thread_storage_offset());
  shared_bytes = thread_storage_bytes();
  const std::uintptr_t coordinates[] = {
      reinterpret_cast<std::uintptr_t>(&threadIdx), reinterpret_cast<std::uintptr_t>(&blockIdx),
      reinterpret_cast<std::uintptr_t>(&blockDim), reinterpret_cast<std::uintptr_t>(&gridDim)};
  coordinates_begin = *std::min_element(std::begin(coordinates), std::end(coordinates));
  coordinates_bytes =
      *std::max_element(std::begin(coordinates), std::end(coordinates)) + sizeof(uint3) - coordinates_begin;
  frame_begin = reinterpret_cast<std::uintptr_t>(grid.frame);
  frame_bytes = grid.frame_bytes;
  threads_.resize(std::size_t{config.block.x} * config.block.y * config.block.z);
  for (std::uint64_t block; !grid.abort && (block = grid.next_block++) < grid.blocks;) run_block(block);

  static std::mutex merging;
  const std::scoped_lock lock(merging);
  grid.what->static_shared_bytes = std::max(grid.what->static_shared_bytes, observer_.static_shared_bytes());
  grid.what->counts.add(observer_.take());
}

void worker::run_block(std::uint64_t block) {
  block_ = block;
  const configuration& config = grid_->what->config;
  blockIdx = {static_cast<unsigned>(block % config.grid.x),
              static_cast<unsigned>(block / config.grid.x % config.grid.y),
              static_cast<unsigned>(block / config.grid.x / config.grid.y)};
  const auto count = static_cast<unsigned>(threads_.size());
  for (unsigned i = 0; i < count; ++i) {
    threads_[i].index = {i % config.block.x, i / config.block.x % config.block.y, i / config.block.x / config.block.y};
    threads_[i].now = state::fresh;
    threads_[i].stack = nullptr;
  }
  observer_.begin_block();
  counted_ = 0;
  do {
    for (unsigned first = 0; first < count; first += lanes_per_warp)
      run_warp(first, std::min<unsigned>(lanes_per_warp, count - first));
  } while (!broken_off_ && (release_barrier() || wake_spinning()));
  if (std::any_of(threads_.begin(), threads_.end(), [](const auto& t) { return t.now != state::done; })) {
    if (!broken_off_) report_stuck();
    abandon_all();
    broken_off_ = false;
    grid_->abort = true;
  }
}

/// Runs the warp until each lane waits at the block's barrier, waits in vain for other lanes, or has returned.
void worker::run_warp(unsigned first, unsigned count) {
  for (bool again = true; again && !broken_off_;) {
    again = false;
    for (unsigned lane = 0; lane < count && !broken_off_; ++lane) {
      thread_state& t = threads_[first + lane];
      if ((t.now == state::fresh || t.now == state::ready) && !records_[lane].full()) {
        resume(t);
        again = true;
      }
    }
    put_together(first, count);
    again |= settle_collectives(first, count);
  }
}

/// All threads wait at a barrier: lets them go on. False where none waits, or where not all live ones do.
bool worker::release_barrier() {
  std::size_t waiting = 0, done = 0;
  const thread_state* waits = nullptr;
  for (const thread_state& t : threads_) {
    done += t.now == state::done;
    if (t.now == state::at_barrier) {
      ++waiting;
      if (!waits) waits = &t;
    }
  }
  if (waiting == 0 || waiting + done != threads_.size()) return false;
  if (done > 0) {
    const auto number = static_cast<std::uint32_t>(waits - threads_.data());
    observer_.report(fault::divergent_barrier, barrier_site(*waits), space::shared, {block_, number}, 0, 0,
                     std::to_string(waiting) + " of " + std::to_string(threads_.size()) + " threads wait at it, " +
                         std::to_string(done) + " have returned");
  }
  observer_.counts().barriers += (waiting + lanes_per_warp - 1) / lanes_per_warp;
  for (thread_state& t : threads_)
    if (t.now == state::at_barrier) t.now = state::ready;
  released_count_ = std::exchange(counted_, 0);
  return true;
}

/// Some threads wait for others that will never come.
void worker::report_stuck() {
  for (unsigned i = 0; i < threads_.size(); ++i) {
    const thread_state& t = threads_[i];
    if (t.now != state::at_collective) continue;
    std::string missing;
    const unsigned first = i / 32 * 32;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (!((t.mask >> lane) & 1) ||
          (first + lane < threads_.size() && threads_[first + lane].now == state::at_collective &&
           threads_[first + lane].waits_at == t.waits_at))
        continue;
      missing += (missing.empty() ? "" : ", ") + std::to_string(lane);
    }
    observer_.report(fault::missing_lane, barrier_site(t), space::shared, {block_, i}, 0, 0,
                     "its mask names lanes that never come: " + missing);
    return;
  }
  for (unsigned i = 0; i < threads_.size(); ++i)
    if (threads_[i].now == state::at_barrier) {
      observer_.report(fault::divergent_barrier, barrier_site(threads_[i]), space::shared, {block_, i}, 0, 0,
                       "not all threads of the block reach it");
      return;
    }
}

void worker::abandon_all() {
  for (thread_state& t : threads_)
    if (t.stack) {
      t.stack->context = nullptr;
      free_stacks_.push_back(t.stack);
      t.stack = nullptr;
    }
  for (lane_records& r : records_) r.read = r.write = r.begin.get();
}

/// What stops a kernel on a GPU stops it here, before the access is made.
void worker::break_off(fault what, std::uint64_t site, std::uintptr_t address) {
  sim_active_worker = nullptr;
  observer_.report(what, site, address - shared_begin < shared_bytes ? space::shared : space::global,
                   {block_, current_number_}, 0, address);
  broken_off_ = true;
  leave();  // for good: the scheduler abandons this fiber
}

// ---- warp functions
// ---------------------------------------------------------------------------------------------------

void worker::meet(unsigned mask, void* argument, combine_function combine, std::uintptr_t pc) {
  sim_active_worker = nullptr;
  thread_state& self = *current_;
  if (mask != whoever_comes && !((mask >> lane_number()) & 1))
    observer_.report(fault::missing_lane, make_site(pc, 0, operation::load), space::shared, {block_, current_number_},
                     0, 0, "the calling lane itself is not in the mask");
  self.mask = mask;
  self.argument = argument;
  self.combine = combine;
  self.waits_at = pc;
  self.now = state::at_collective;
  // The last lane to come completes the call and need not wait.
  const unsigned first = warp_first();
  unsigned here = 0;
  for (unsigned other = 0; other < lanes_per_warp && first + other < threads_.size(); ++other)
    here |= static_cast<unsigned>(threads_[first + other].meets(self)) << other;
  if (mask != whoever_comes && (here & mask) == mask)
    complete(first, here & mask);
  else
    leave();
  sim_active_worker = this;
}

/// Lanes that have returned will not come: completes what waits only for them. True where a lane can go on.
bool worker::settle_collectives(unsigned first, unsigned count) {
  bool any = false;
  for (unsigned lane = 0; lane < count; ++lane) {
    const thread_state& t = threads_[first + lane];
    if (t.now != state::at_collective || t.mask == whoever_comes) continue;
    unsigned here = 0, gone = 0;
    for (unsigned other = 0; other < lanes_per_warp; ++other) {
      const bool exists = first + other < threads_.size();
      const thread_state* o = exists ? &threads_[first + other] : nullptr;
      if (!exists || o->now == state::done)
        gone |= 1u << other;
      else if (o->meets(t))
        here |= 1u << other;
    }
    if ((t.mask & ~gone & ~here) != 0) continue;
    if (const unsigned absent = t.mask & gone; absent != 0 && t.combine) {
      // A full mask in a block whose last warp is not full is common and harmless; lanes that left early are not.
      unsigned left = 0;
      for (unsigned other = 0; other < count; ++other) left += (absent >> other) & 1;
      if (left > 0)
        observer_.report(fault::missing_lane, barrier_site(t), space::shared, {block_, first + lane}, 0, 0,
                         std::to_string(left) + " lanes of its mask have already returned");
    }
    complete(first, here & t.mask ? here & t.mask : 1u << lane);
    any = true;
  }
  return any || settle_whoever_came(first, count);
}

/// No lane can go on before those go on that wait for whoever comes: the ones at the lowest program counter do.
bool worker::settle_whoever_came(unsigned first, unsigned count) {
  const thread_state* lowest = nullptr;
  for (unsigned lane = 0; lane < count; ++lane) {
    const thread_state& t = threads_[first + lane];
    if (t.now == state::ready || t.now == state::fresh) return false;
    if (t.now == state::at_collective && t.mask == whoever_comes && (!lowest || t.waits_at < lowest->waits_at))
      lowest = &t;
  }
  if (!lowest) return false;
  unsigned here = 0;
  for (unsigned lane = 0; lane < count; ++lane)
    here |= static_cast<unsigned>(threads_[first + lane].meets(*lowest)) << lane;
  complete(first, here);
  return true;
}

/// What they wait for may have come from a warp that ran after theirs.
bool worker::wake_spinning() {
  bool any = false;
  for (thread_state& t : threads_)
    if (t.now == state::spinning) {
      t.now = state::ready;
      any = true;
    }
  return any;
}

void worker::complete(unsigned first, unsigned participants) {
  ++observer_.counts().collectives;
  warp_call call;
  call.participants = participants;
  call.run_by = this;
  combine_function combine = nullptr;
  for (unsigned lane = 0; lane < lanes_per_warp; ++lane) {
    if (!call.has(lane)) continue;
    thread_state& t = threads_[first + lane];
    call.argument[lane] = t.argument;
    combine = t.combine;
    call.pc = reinterpret_cast<const void*>(t.waits_at);
    t.now = state::ready;
  }
  if (combine) combine(call);
}

void worker::report_missing_lane(const warp_call& call, unsigned reader, unsigned source) {
  observer_.report(fault::missing_lane, make_site(reinterpret_cast<std::uintptr_t>(call.pc), 0, operation::load),
                   space::shared, {block_, warp_first() + reader}, 0, 0,
                   "it reads from lane " + std::to_string(source) + ", which does not take part");
}

// ---- from lanes to warp instructions
// --------------------------------------------------------------------------------------

/// Lanes at the same instruction form one warp instruction. Where they differ, the lowest program counter goes first,
/// so that lanes meet again behind a branch. A lane that was only interrupted has more to come: then the rest waits.
void worker::put_together(unsigned first, unsigned count) {
  const access* head[lanes_per_warp];
  const access* end[lanes_per_warp];
  std::uint8_t alive[lanes_per_warp];
  bool more_to_come[lanes_per_warp];
  unsigned n = 0;
  for (unsigned lane = 0; lane < count; ++lane) {
    const state now = threads_[first + lane].now;
    lane_records& r = records_[lane];
    more_to_come[lane] = now == state::ready || now == state::fresh;
    head[lane] = r.read;
    end[lane] = r.write;
    if (r.read != r.write || more_to_come[lane]) alive[n++] = static_cast<std::uint8_t>(lane);
  }
  std::uintptr_t addresses[lanes_per_warp];
  std::uint8_t lanes[lanes_per_warp];
  const warp_position where{block_, first};
  bool interrupted = false;
  while (n > 0) {
    for (unsigned i = 0; i < n;) {  // drop lanes that have no more
      const unsigned lane = alive[i];
      if (head[lane] != end[lane]) {
        ++i;
      } else if (more_to_come[lane]) {
        interrupted = true;
        break;
      } else {
        std::copy(alive + i + 1, alive + n, alive + i);
        --n;
      }
    }
    if (interrupted || n == 0) break;
    std::uint64_t site = head[alive[0]]->site, different = 0;
    for (unsigned i = 0; i < n; ++i) {
      const access* a = head[alive[i]];
      different |= a->site ^ site;
      addresses[i] = a->address;
    }
    if (different == 0) {
      for (unsigned i = 0; i < n; ++i) ++head[alive[i]];
      observer_.instruction(site, {addresses, n}, {alive, n}, where);
      continue;
    }
    for (unsigned i = 0; i < n; ++i)
      if (site_pc(head[alive[i]]->site) < site_pc(site)) site = head[alive[i]]->site;
    unsigned group = 0;
    for (unsigned i = 0; i < n; ++i) {
      const unsigned lane = alive[i];
      if (head[lane]->site != site) continue;
      addresses[group] = head[lane]->address;
      lanes[group++] = static_cast<std::uint8_t>(lane);
      ++head[lane];
    }
    observer_.instruction(site, {addresses, group}, {lanes, group}, where);
  }
  for (unsigned lane = 0; lane < count; ++lane) {
    lane_records& r = records_[lane];
    const auto rest = static_cast<std::size_t>(end[lane] - head[lane]);
    if (rest > 0 && head[lane] != r.begin.get()) std::memmove(r.begin.get(), head[lane], rest * sizeof(access));
    r.read = r.begin.get();
    r.write = r.read + rest;
  }
}

// ---- the pool
// -------------------------------------------------------------------------------------------------------------

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

void run_blocks(launched& what, void (*body)(void*), void* frame, std::size_t frame_bytes) {
  static pool workers;
  static std::uint8_t epoch = 0;
  if (++epoch == 0) {  // every 255 launches the bytes would repeat
    madvise(shadow().loaded_epoch, heap_bytes / sector_bytes, MADV_DONTNEED);
    madvise(shadow().stored_epoch, heap_bytes / sector_bytes, MADV_DONTNEED);
    epoch = 1;
  }
  grid_run grid;
  grid.what = &what;
  grid.body = body;
  grid.frame = frame;
  grid.frame_bytes = frame_bytes;
  grid.epoch = epoch;
  grid.blocks = std::uint64_t{what.config.grid.x} * what.config.grid.y * what.config.grid.z;
  workers.run(grid);
  what.aborted = grid.abort;
}

// ---- what kernels call
// --------------------------------------------------------------------------------------------------

void meet(unsigned mask, void* argument, combine_function combine, const void* pc) {
  sim_active_worker->meet(mask, argument, combine, reinterpret_cast<std::uintptr_t>(pc));
}
void report_missing_lane(const warp_call& call, unsigned reader, unsigned source) {
  call.run_by->report_missing_lane(call, reader, source);
}
unsigned lane_number() { return sim_active_worker->lane_number(); }
void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void spin() { sim_active_worker->spin(); }
void block_barrier(const void* pc) { sim_active_worker->barrier(reinterpret_cast<std::uintptr_t>(pc)); }
int block_barrier_count(int predicate, const void* pc) {
  return sim_active_worker->barrier_count(reinterpret_cast<std::uintptr_t>(pc), predicate);
}
std::uint64_t modelled_cycles() {
  static std::atomic<std::uint64_t> ticks{0};
  return ticks += 32;
}

namespace {

[[gnu::noinline, gnu::cold]] void observe_elsewhere(worker& self, std::uintptr_t address, std::uint64_t site) {
  if (address - self.frame_begin < self.frame_bytes || address - self.coordinates_begin < self.coordinates_bytes ||
      is_program_constant(address))
    return;  // the launch's arguments; threadIdx and its kind, which clang reports
  if (!is_program_variable(address)) self.break_off(fault::illegal_address, site, address);
  *self.write++ = {site, address};
  if (self.write == self.write_end) self.records_full();
}

[[gnu::always_inline]] inline void observe(std::uintptr_t address, std::size_t bytes, operation op, const void* pc) {
  worker* self = sim_active_worker;
  if (!self) return;  // host code
  const std::uint64_t site = make_site(reinterpret_cast<std::uintptr_t>(pc), bytes, op);
  if (address - heap_base < heap_bytes || (address - self->shared_begin < self->shared_bytes &&
                                           address - self->coordinates_begin >= self->coordinates_bytes)) [[likely]] {
    if (address & (bytes - 1)) [[unlikely]]
      self->break_off(fault::misaligned, site, address);
    *self->write++ = {site, address};
    if (self->write == self->write_end) [[unlikely]]
      self->records_full();
  } else if (address - self->stacks_begin >= max_threads * stack_bytes) {
    observe_elsewhere(*self, address, site);
  }
}

/// A copy of several words goes word by word, as the device would do it.
void observe_range(std::uintptr_t address, std::size_t bytes, operation op, const void* pc) {
  while (bytes > 0) {
    const std::size_t step = address % 4 == 0 && bytes >= 4 ? 4 : address % 2 == 0 && bytes >= 2 ? 2 : 1;
    observe(address, step, op, pc);
    address += step;
    bytes -= step;
  }
}

}  // namespace

void observe_atomic(const volatile void* address, std::size_t bytes, const void* pc) {
  observe(reinterpret_cast<std::uintptr_t>(address), bytes, operation::atomic, pc);
}
void observe_load(const volatile void* address, std::size_t bytes, const void* pc) {
  observe(reinterpret_cast<std::uintptr_t>(address), bytes, operation::load, pc);
}
void observe_store(const volatile void* address, std::size_t bytes, const void* pc) {
  observe(reinterpret_cast<std::uintptr_t>(address), bytes, operation::store, pc);
}

}  // namespace sim

// ---- what the compiler calls (-fsanitize=thread; libtsan is not linked)
// -----------------------------------------------------

#define SIM_HOOK(name, bytes, op)                                                                                    \
  extern "C" void name(void* address) {                                                                              \
    sim::observe(reinterpret_cast<std::uintptr_t>(address), bytes, sim::operation::op, __builtin_return_address(0)); \
  }
#define SIM_HOOKS(bytes)                                       \
  SIM_HOOK(__tsan_read##bytes, bytes, load)                    \
  SIM_HOOK(__tsan_write##bytes, bytes, store)                  \
  SIM_HOOK(__tsan_unaligned_read##bytes, bytes, load)          \
  SIM_HOOK(__tsan_unaligned_write##bytes, bytes, store)        \
  SIM_HOOK(__tsan_volatile_read##bytes, bytes, load)           \
  SIM_HOOK(__tsan_volatile_write##bytes, bytes, store)         \
  SIM_HOOK(__tsan_unaligned_volatile_read##bytes, bytes, load) \
  SIM_HOOK(__tsan_unaligned_volatile_write##bytes, bytes, store)
SIM_HOOKS(1)
SIM_HOOKS(2)
SIM_HOOKS(4)
SIM_HOOKS(8)
SIM_HOOKS(16)

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* address, std::size_t bytes) {
  sim::observe_range(reinterpret_cast<std::uintptr_t>(address), bytes, sim::operation::load,
                     __builtin_return_address(0));
}
void __tsan_write_range(void* address, std::size_t bytes) {
  sim::observe_range(reinterpret_cast<std::uintptr_t>(address), bytes, sim::operation::store,
                     __builtin_return_address(0));
}
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}
}

// The runtime of an instrumented atomic has to do the operation itself.
#define SIM_ATOMIC_RMW(bits, type, name)                                                  \
  extern "C" type __tsan_atomic##bits##_##name(volatile type* address, type value, int) { \
    sim::observe_atomic(address, sizeof(type), __builtin_return_address(0));              \
    return __atomic_##name(address, value, __ATOMIC_SEQ_CST);                             \
  }
#define SIM_ATOMICS(bits, type)                                                                                       \
  extern "C" type __tsan_atomic##bits##_load(const volatile type* address, int) {                                     \
    sim::observe(reinterpret_cast<std::uintptr_t>(address), sizeof(type), sim::operation::load,                       \
                 __builtin_return_address(0));                                                                        \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                                                \
  }                                                                                                                   \
  extern "C" void __tsan_atomic##bits##_store(volatile type* address, type value, int) {                              \
    sim::observe(reinterpret_cast<std::uintptr_t>(address), sizeof(type), sim::operation::store,                      \
                 __builtin_return_address(0));                                                                        \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                                               \
  }                                                                                                                   \
  extern "C" type __tsan_atomic##bits##_exchange(volatile type* address, type value, int) {                           \
    sim::observe_atomic(address, sizeof(type), __builtin_return_address(0));                                          \
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                                                     \
  }                                                                                                                   \
  extern "C" int __tsan_atomic##bits##_compare_exchange_strong(volatile type* address, type* expected, type value,    \
                                                               int, int) {                                            \
    sim::observe_atomic(address, sizeof(type), __builtin_return_address(0));                                          \
    return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
  }                                                                                                                   \
  extern "C" int __tsan_atomic##bits##_compare_exchange_weak(volatile type* address, type* expected, type value, int, \
                                                             int) {                                                   \
    sim::observe_atomic(address, sizeof(type), __builtin_return_address(0));                                          \
    return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
  }                                                                                                                   \
  extern "C" type __tsan_atomic##bits##_compare_exchange_val(volatile type* address, type expected, type value, int,  \
                                                             int) {                                                   \
    sim::observe_atomic(address, sizeof(type), __builtin_return_address(0));                                          \
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                \
    return expected;                                                                                                  \
  }                                                                                                                   \
  SIM_ATOMIC_RMW(bits, type, fetch_add)                                                                               \
  SIM_ATOMIC_RMW(bits, type, fetch_sub)                                                                               \
  SIM_ATOMIC_RMW(bits, type, fetch_and)                                                                               \
  SIM_ATOMIC_RMW(bits, type, fetch_or)                                                                                \
  SIM_ATOMIC_RMW(bits, type, fetch_xor)                                                                               \
  SIM_ATOMIC_RMW(bits, type, fetch_nand)
SIM_ATOMICS(8, std::uint8_t)
SIM_ATOMICS(16, std::uint16_t)
SIM_ATOMICS(32, std::uint32_t)
SIM_ATOMICS(64, std::uint64_t)
