// Runs a grid. A worker, one OS thread, runs whole blocks; a block's threads are fibers that run one after another up
// to the next barrier or warp function. What the lanes of a warp accessed in between is then put together, warp
// instruction by warp instruction, and given to the observer. A block whose threads all wait for others outside it is
// set aside, with its shared memory, and the worker goes on with another.
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <condition_variable>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <deque>
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

// A thread that has taken so many steps - accesses, and turns of loops where those are not recorded - since it last met
// others may go round in a circle: it is looked at.
constexpr unsigned steps_alone = 8 * record_capacity;

// A warp that has taken so many steps, or a block that has
// passed so many barriers gives way: it may wait for what another one has yet to do, and count how often it has looked,
// so that it never looks as before.
constexpr std::uint64_t steps_of_warp = std::uint64_t{1} << 22;
constexpr unsigned rounds_of_block = 64 * look_every;

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

}  // namespace

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
  worker() {
    stack_memory_ = static_cast<char*>(mmap(nullptr, max_stacks * stack_bytes, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0));
    if (stack_memory_ == MAP_FAILED) std::abort();
    stacks_begin = reinterpret_cast<std::uintptr_t>(stack_memory_);
    for (std::size_t i = 0; i < lanes_per_warp; ++i)
      records_[i].begin = records_[i].read = records_[i].write = record_memory_.data() + i * record_stride;
  }

  void run(grid_run& grid);

  // ---- called from fibers; `frame`: of the function that the kernel called ----
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
  void spin(std::uintptr_t pc, std::uintptr_t frame) {
    current_->waits_at = pc;
    current_->now = state::waiting;
    leave(frame);
  }
  [[noreturn]] void break_off(fault what, std::uint64_t site, std::uintptr_t address, const std::string& detail = "");
  void report_here(fault what, std::uint64_t site, space where, std::uintptr_t address,
                   const std::string& detail = "") {
    observer_.report(what, site, where, {block_->number, current_number_}, 0, address, detail);
  }
  [[gnu::noinline, gnu::cold]] void interrupt(std::uintptr_t frame) { leave(frame); }
  launch_counts& counts() { return observer_.counts(); }
  void turn(std::uintptr_t frame) {  // of a loop that is not recorded
    if (++turns_ == steps_alone) [[unlikely]]
      interrupt(frame);
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
  std::uint64_t resume(thread_state& thread);
  void activate(thread_state& thread);
  void remember_state(thread_state& thread, const lane_records& records);
  [[gnu::always_inline]] void leave(std::uintptr_t frame) {
    looked_at_ = recording_ && (look_ || (current_->now == state::ready && may_circle(*current_))) && look(frame);
    jump();
  }
  static bool may_circle(const thread_state& t) { return t.as_before || t.alone >= steps_alone; }
  void jump() {
    const context::transfer_t back = context::jump_fcontext(scheduler_, nullptr);
    scheduler_ = back.fctx;
  }
  bool look(std::uintptr_t frame);
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
  bool may_give_way() const { return stacks_made_ - free_stacks_.size() < max_stacks / 2; }
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
  bool observing_ = true;  // the block is observed
  bool recording_ = true;  // the thread's accesses are; where the block is not observed, for a look at it
  unsigned turns_ = 0;
  bool looked_at_ = false;           // the thread when it left
  std::uintptr_t caller_stack_ = 0;  // of the kernel's code, where the thread was looked at
  std::uint64_t caller_registers_[6] = {};
  unsigned warp_first_ = 0;                        // of the warp that is put together
  unsigned current_number_ = 0;                    // linear index of current_ in its block
  bool broken_off_ = false, got_further_ = false;  // since the last round over the block's warps
  bool block_got_further_ = false;                 // since it was brought back
  bool pausing_ = false;                           // the warp is to give way once its lanes are together
  bool look_ = false;                              // for circles that lead through warp functions and barriers too
};

}  // namespace sim

// Not null while this OS thread runs a kernel's own code. Null in the scheduler and in our functions that kernels call:
// the linker may have given us the instrumented copy of a library function such as std::string's, and that is no access
// of the kernel. Outside the namespace: memory.cpp knows it by this name.
__thread sim::worker* sim_active_worker = nullptr;
// Likewise, but also in blocks that are not observed.
__thread sim::worker* sim_running_worker = nullptr;
// While the host only asks which function a launch would run.
__thread std::jmp_buf* sim_asking = nullptr;
__thread std::uintptr_t sim_answer = 0;

namespace sim {

// ---- fibers ---------------------------------------------------------------------------------------------------------

void worker::enter() {
  sim_running_worker = this;
  sim_active_worker = recording_ ? this : nullptr;
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

/// Takes the registers that a called function preserves as they are in the code that called the one with this frame:
/// our own functions, up to here, may have saved them anywhere. False where the stack cannot be followed.
[[gnu::noinline, gnu::cold]] bool worker::look(std::uintptr_t frame) {
  sim_active_worker = sim_running_worker = nullptr;
  caller_stack_ = frame + 8;  // from the return address on
  const auto take = [](_Unwind_Context* at, void* to) {
    worker& self = *static_cast<worker*>(to);
    if (_Unwind_GetCFA(at) <= self.caller_stack_) return _URC_NO_REASON;  // a function of ours
    constexpr int numbers[] = {3, 6, 12, 13, 14, 15};                     // rbx, rbp, r12 to r15, as DWARF has them
    for (std::size_t i = 0; i < std::size(numbers); ++i) self.caller_registers_[i] = _Unwind_GetGR(at, numbers[i]);
    return _URC_NORMAL_STOP;
  };
  return _Unwind_Backtrace(take, this) != _URC_END_OF_STACK;
}

/// Lets the thread go on until it leaves. Returns how many steps it took.
std::uint64_t worker::resume(thread_state& thread) {
  if (!thread.stack) {
    thread.stack = take_stack();
    if (!thread.stack->context)
      thread.stack->context = context::make_fcontext(thread.stack->top, stack_bytes - 8192, &worker::fiber_main);
  }
  fiber_stack* stack = thread.stack;
  activate(thread);
  turns_ = 0;
  looked_at_ = false;
  recording_ = observing_ || look_ || may_circle(thread);
  enter();
  const context::transfer_t back = context::jump_fcontext(stack->context, this);
  sim_active_worker = sim_running_worker = nullptr;
  stack->context = back.fctx;
  lane_records& records = records_[lane_number()];
  const std::uint64_t steps = static_cast<std::uint64_t>(write - records.write) + turns_;
  records.write = write;
  current_->depth = last_depth();
  if (current_->now == state::done) {  // the fiber went through fresh lanes and none is left
    current_->stack = nullptr;
    free_stacks_.push_back(stack);
  }
  if (looked_at_) {
    remember_state(*current_, records);
  } else {
    current_->as_before = false;
    current_->alone = current_->now == state::ready ? current_->alone + steps : 0;
    got_further_ = true;
  }
  if (!observing_) records.write = records.begin;
  return steps;
}

/// A thread that looks as it did before - its stack, its registers, and what it has just read - goes round in a circle:
/// it waits for somebody to change what it reads.
void worker::remember_state(thread_state& thread, const lane_records& records) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  const auto mix = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x9e37'79b9'7f4a'7c15 + (hash >> 29); };
  for (const std::uint64_t value : caller_registers_) mix(value);
  for (std::uintptr_t at = caller_stack_; at + 8 <= stack_top; at += 8)
    mix(*reinterpret_cast<const std::uint64_t*>(at));
  const std::ptrdiff_t recent = std::min<std::ptrdiff_t>(records.write - records.begin, 32);
  for (const access* a = records.write - recent; a != records.write; ++a) {
    mix(a->address);  // also of a copy in the middle of which it left
    if (site_operation(a->site) <= operation::atomic && a->address % word_bytes == 0 && site_bytes(a->site) >= 4)
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
  thread.alone = 0;
  got_further_ = true;
  std::rotate(been_in.begin(), been_in.begin() + 1, been_in.end());
  been_in.back() = hash;
}

void worker::fiber_main(context::transfer_t from) {
  auto* self = static_cast<worker*>(from.data);
  self->scheduler_ = from.fctx;
  for (;;) {
    self->grid_->body(self->grid_->frame);
    sim_active_worker = sim_running_worker = nullptr;
    if (!self->finish_and_take_next()) self->jump();
    self->enter();
  }
}

/// The thread has returned. Its fiber goes on with the next lane of the warp where that has not begun yet.
bool worker::finish_and_take_next() {
  current_->now = state::done;
  got_further_ = true;
  lane_records& records = records_[lane_number()];
  records.write = observing_ ? write : records.begin;
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
    t.alone = 0;
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
  observing_ = block.number % grid_->sample == 0;
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
      if (!got_further_ && block.waits) return outcome::waits_for_others;
      if (round >= rounds_of_block && may_give_way()) return outcome::gave_way;
      continue;
    }
    unsigned ready = 0, done = 0, waiting = 0, at_grid = 0;
    for (thread_state& t : block.threads) {
      ready += t.now == state::ready;
      done += t.now == state::done;
      at_grid += t.now == state::at_grid_barrier;
      waiting += t.now == state::waiting;
    }
    if (done == count) {
      if (observing_) observer_.end_block();
      return outcome::finished;
    }
    if (at_grid > 0 && at_grid + done == count) return outcome::waits_for_grid;
    if (ready > 0) return outcome::gave_way;
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

/// Runs the warp until each lane waits at the block's barrier, waits in vain for others, or has returned; or until it
/// has taken long, and nothing that its lanes did would be counted otherwise for that.
void worker::run_warp(unsigned first, unsigned count) {
  const bool look = look_;
  std::uint64_t steps = 0;
  bool meeting = false;  // a lane waits in a warp function
  for (unsigned lane = 0; lane < count; ++lane) meeting |= threads()[first + lane].now == state::at_collective;
  bool rest = false;  // accesses that wait for other lanes'
  unsigned turn = 1;
  for (bool again = true; again && !broken_off_; ++turn) {
    bool moved = false, new_state = false;
    look_ = look || turn % look_every == 0;
    unsigned waiting = 0;  // lanes that this turn is not for
    for (unsigned lane = 0; pausing_ && lane < count; ++lane)
      waiting |= static_cast<unsigned>(threads()[first + lane].now == state::at_collective) << lane;
    for (unsigned lane = 0; lane < count && !broken_off_; ++lane) {
      thread_state& t = threads()[first + lane];
      if ((t.now != state::fresh && t.now != state::ready) || records_[lane].full() || (waiting >> lane & 1)) continue;
      steps += resume(t);
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
    pausing_ = steps >= steps_of_warp && may_give_way();
    if (pausing_ && !rest) break;
  }
  pausing_ = false;
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
  if (observing_) observer_.counts().barriers += (waiting + lanes_per_warp - 1) / lanes_per_warp;
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
  jump();  // for good: the scheduler abandons this fiber
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
      all_at_grid_barrier &= end != outcome::waits_for_others && end != outcome::gave_way;
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

void worker::grid_barrier(std::uintptr_t pc, std::uintptr_t frame) {
  current_->waits_at = pc;
  if (!grid_->what->config.cooperative) break_off(fault::not_cooperative, make_site(pc, 0, operation::load), 0);
  current_->now = state::at_grid_barrier;
  leave(frame);
}

// ---- warp functions -------------------------------------------------------------------------------------------------

void worker::meet(unsigned mask, void* argument, combine_function combine, std::uintptr_t pc, std::uintptr_t frame) {
  sim_active_worker = sim_running_worker = nullptr;
  thread_state& self = *current_;
  if (mask != whoever_comes && !((mask >> lane_number()) & 1))
    observer_.report(fault::missing_lane, make_site(pc, 0, operation::load), space::shared,
                     {block_->number, current_number_}, 0, 0, "the calling lane itself is not in the mask");
  if (recording_) {
    const access meeting{make_site(pc, 0, operation::sync, last_depth()), mask};
    *write++ = meeting;
    if (write == write_end) {
      leave(frame);
      sim_active_worker = sim_running_worker = nullptr;
    }
  } else {
    turn(frame);
    sim_active_worker = sim_running_worker = nullptr;
  }
  self.mask = mask;
  self.argument = argument;
  self.combine = combine;
  self.waits_at = pc;
  self.now = state::at_collective;
  // The last lane to come completes the call and need not wait.
  const unsigned first = warp_first();
  unsigned here = 0;
  for (unsigned other = 0; other < lanes_per_warp && first + other < threads().size(); ++other)
    here |= static_cast<unsigned>(threads()[first + other].meets(self)) << other;
  if (mask != whoever_comes && (here & mask) == mask) complete(first, here & mask);
  if (self.now == state::at_collective || pausing_) leave(frame);  // pausing: no lane gets ahead of the others
  enter();
}

/// Lanes that have returned will not come: completes what waits only for them. True where a lane can go on.
bool worker::settle_collectives(unsigned first, unsigned count) {
  bool any = false;
  for (unsigned lane = 0; lane < count; ++lane) {
    const thread_state& t = threads()[first + lane];
    if (t.now != state::at_collective || t.mask == whoever_comes) continue;
    unsigned here = 0, gone = 0;
    for (unsigned other = 0; other < lanes_per_warp; ++other) {
      const bool exists = first + other < threads().size();
      const thread_state* o = exists ? &threads()[first + other] : nullptr;
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
        observer_.report(fault::missing_lane, waiting_site(t), space::shared, {block_->number, first + lane}, 0, 0,
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
    const thread_state& t = threads()[first + lane];
    if (t.now == state::ready || t.now == state::fresh) return false;
    if (t.now == state::at_collective && t.mask == whoever_comes && (!lowest || t.waits_at < lowest->waits_at))
      lowest = &t;
  }
  if (!lowest) return false;
  unsigned here = 0;
  for (unsigned lane = 0; lane < count; ++lane)
    here |= static_cast<unsigned>(threads()[first + lane].meets(*lowest)) << lane;
  complete(first, here);
  return true;
}

void worker::complete(unsigned first, unsigned participants) {
  warp_call call;
  call.participants = participants;
  combine_function combine = nullptr;
  for (unsigned lane = 0; lane < lanes_per_warp; ++lane) {
    if (!call.has(lane)) continue;
    thread_state& t = threads()[first + lane];
    call.argument[lane] = t.argument;
    combine = t.combine;
    call.pc = reinterpret_cast<const void*>(t.waits_at);
    t.now = state::ready;
  }
  if (combine) combine(call);
}

// ---- from lanes to warp instructions --------------------------------------------------------------------------------

/// An index beyond its array. Where that line's next access is to shared memory or a __device__ variable, its own
/// bounds count: `tile[0][i]` may well mean the rows behind. Local arrays have no such second check.
void worker::check_index(std::uint64_t site, unsigned lane, const access* next, const access* end,
                         std::uint64_t index) {
  const auto says_nothing = [this](const access& a) {
    return site_operation(a.site) > operation::local ||
           (site_operation(a.site) == operation::local && a.address - stacks_begin >= max_stacks * stack_bytes);
  };
  while (next != end && says_nothing(*next)) ++next;
  if (next != end && (next->address - shared_begin < shared_bytes || is_program_variable(next->address))) {
    const source_line line = line_of(site_pc(site)), there = line_of(site_pc(next->site));
    if (there.file == line.file && there.line == line.line) return;
  }
  observer_.report(fault::local_bounds, site, space::none, {block_->number, warp_first_}, lane, 0,
                   " at index " + std::to_string(static_cast<std::int64_t>(index)));
}

/// Lanes at the same instruction form one warp instruction. Where they differ, the deepest call goes first, then the
/// lowest program counter, so that lanes meet again behind a branch; a warp function goes when all lanes of its mask
/// are there. A lane that was only interrupted has more to come: then the rest waits, unless all of it is wanted.
/// Returns whether something waits.
bool worker::put_together(unsigned first, unsigned count, bool all) {
  const access* head[lanes_per_warp];
  const access* end[lanes_per_warp];
  std::uint8_t alive[lanes_per_warp];
  bool more_to_come[lanes_per_warp];
  unsigned n = 0;
  for (unsigned lane = 0; lane < count; ++lane) {
    const state now = threads()[first + lane].now;
    lane_records& r = records_[lane];
    more_to_come[lane] = !all && (now == state::ready || now == state::fresh);
    head[lane] = r.read;
    end[lane] = r.write;
    if (r.read != r.write || more_to_come[lane]) alive[n++] = static_cast<std::uint8_t>(lane);
  }
  if (n == 0) return false;
  std::uintptr_t addresses[lanes_per_warp];
  std::uint8_t lanes[lanes_per_warp];
  const warp_position where{block_->number, first};
  warp_first_ = first;
  bool interrupted = false;
  for (;;) {
    std::ptrdiff_t steps = record_capacity;  // for which every lane has something
    for (unsigned i = 0; i < n;) {           // drop lanes that have no more
      const unsigned lane = alive[i];
      steps = std::min(steps, end[lane] - head[lane]);
      if (head[lane] != end[lane]) {
        ++i;
      } else if (more_to_come[lane]) {
        interrupted = true;
        break;
      } else {
        steps = record_capacity;
        std::copy(alive + i + 1, alive + n, alive + i);
        --n;
        i = 0;
      }
    }
    if (interrupted || n == 0) break;
    const access* next[lanes_per_warp];
    for (unsigned i = 0; i < n; ++i) next[i] = head[alive[i]];
    std::uint64_t site = 0, different = 0;
    std::ptrdiff_t step = 0;
    for (; step < steps; ++step) {
      site = next[0][step].site;
      different = static_cast<std::uint64_t>(site_operation(site) == operation::index);
      for (unsigned i = 0; i < n; ++i) {
        const access& a = next[i][step];
        different |= a.site ^ site;
        addresses[i] = a.address;
      }
      if (different != 0) break;
      observer_.instruction(site, {addresses, n}, {alive, n}, where);
    }
    for (unsigned i = 0; i < n; ++i) head[alive[i]] += step;
    if (different == 0) continue;
    unsigned syncing = 0, here = 0;  // lanes at a warp function, and all lanes that have more
    for (unsigned i = 0; i < n; ++i) {
      here |= 1u << alive[i];
      syncing |= static_cast<unsigned>(site_operation(head[alive[i]]->site) == operation::sync) << alive[i];
    }
    const auto rank = [](std::uint64_t s) { return (~s & ~site_mask) | (s & 0xffff'ffff); };
    std::uint64_t best = ~std::uint64_t{0};
    for (unsigned i = 0; i < n; ++i) {
      const access* a = head[alive[i]];
      const auto mask = static_cast<unsigned>(a->address);
      if (((syncing >> alive[i]) & 1) && (mask & here & ~syncing) != 0) continue;
      if (rank(a->site) < best) {
        best = rank(a->site);
        site = a->site;
      }
    }
    unsigned group = 0;
    for (unsigned i = 0; i < n; ++i) {
      const unsigned lane = alive[i];
      if (head[lane]->site != site) continue;
      addresses[group] = head[lane]->address;
      lanes[group++] = static_cast<std::uint8_t>(lane);
      ++head[lane];
    }
    if (site_operation(site) == operation::index)
      for (unsigned i = 0; i < group; ++i) check_index(site, lanes[i], head[lanes[i]], end[lanes[i]], addresses[i]);
    else
      observer_.instruction(site, {addresses, group}, {lanes, group}, where);
  }
  bool left = false;
  for (unsigned lane = 0; lane < count; ++lane) {
    lane_records& r = records_[lane];
    const auto rest = static_cast<std::size_t>(end[lane] - head[lane]);
    if (rest > 0 && head[lane] != r.begin) std::memmove(r.begin, head[lane], rest * sizeof(access));
    r.read = r.begin;
    r.write = r.read + rest;
    left |= rest > 0;
  }
  return left;
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

pool& workers() {
  static pool all;
  return all;
}

}  // namespace

void start_workers() { workers(); }

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
  workers().run(grid);
  what.observed_blocks = (grid.blocks + grid.sample - 1) / grid.sample;
  if (grid.sample > 1) what.counts.scale(static_cast<double>(grid.blocks) / static_cast<double>(what.observed_blocks));
  what.aborted = grid.abort;
  what.last_epoch = grid.epoch;
}

// ---- what kernels call ----------------------------------------------------------------------------------------------

namespace {

/// The kernel's code that called a function of ours, which has its stack frame at `frame`.
struct caller {
  std::uintptr_t pc, frame;
  std::uint64_t depth;  // how deep in calls it is
};
[[gnu::always_inline]] inline std::uintptr_t frame_here() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}
[[gnu::always_inline]] inline caller caller_here() {
  const worker* self = sim_active_worker;
  return {reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)), frame_here(),
          self ? self->depth_of(frame_here()) : 0};
}
/// Where the program counter is known but not the caller's frame: most likely as deep as its last access.
[[gnu::always_inline]] inline caller caller_at(const void* pc) {
  const worker* self = sim_active_worker;
  return {reinterpret_cast<std::uintptr_t>(pc), frame_here(), self ? self->last_depth() : 0};
}

}  // namespace

void meet(unsigned mask, void* argument, combine_function combine, const void* pc) {
  sim_running_worker->meet(mask, argument, combine, reinterpret_cast<std::uintptr_t>(pc), frame_here());
}
bool in_kernel() { return sim_running_worker != nullptr; }
void stop_kernel(fault what, const void* pc, const std::string& detail) {
  sim_running_worker->break_off(what, make_site(reinterpret_cast<std::uintptr_t>(pc), 0, operation::load), 0, detail);
}
unsigned lane_number() { return sim_running_worker->lane_number(); }
void grid_barrier(const void* pc) {
  sim_running_worker->grid_barrier(reinterpret_cast<std::uintptr_t>(pc), frame_here());
}
void fence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (worker* self = sim_running_worker) self->counts().fenced = true;
}
void spin() {
  if (worker* self = sim_running_worker)
    self->spin(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)), frame_here());
}
void block_barrier(const void* pc) { sim_running_worker->barrier(reinterpret_cast<std::uintptr_t>(pc), frame_here()); }
int block_barrier_count(int predicate, const void* pc) {
  return sim_running_worker->barrier_count(reinterpret_cast<std::uintptr_t>(pc), predicate, frame_here());
}
std::uint64_t modelled_cycles() {
  static std::atomic<std::uint64_t> ticks{0};
  return ticks += 32;
}

std::uintptr_t ask_for_kernel(void (*body)(void*), void* frame) {
  std::jmp_buf here;
  sim_answer = 0;
  sim_asking = &here;
  if (setjmp(here) == 0) body(frame);  // up to the kernel's first basic block, or access to device memory
  sim_asking = nullptr;
  return sim_answer;
}

namespace {

[[gnu::always_inline]] inline void note_access(worker& self, std::uint64_t site, std::uintptr_t address,
                                               std::uintptr_t frame) {
  *self.write++ = {site, address};
  if (self.write == self.write_end) [[unlikely]]
    self.interrupt(frame);
}

[[gnu::noinline, gnu::cold]] void observe_elsewhere(worker& self, std::uintptr_t address, std::uint64_t site,
                                                    std::uintptr_t frame) {
  const std::uint64_t local =
      (site & ~(std::uint64_t{0xff} << 40)) | (std::uint64_t{static_cast<unsigned>(operation::local)} << 40);
  if (address - self.coordinates_begin < self.coordinates_bytes && site_operation(site) != operation::load)
    self.break_off(fault::out_of_bounds, site, address);  // an index so far beyond its array
  if (self.stack_top - address <= stack_bytes || address - self.frame_begin < self.frame_bytes ||
      address - self.coordinates_begin < self.coordinates_bytes || is_program_constant(address))
    return note_access(self, local, address,
                       frame);  // its stack, the launch's arguments, threadIdx (which clang reports)
  if (address - self.stacks_begin < max_stacks * stack_bytes) {
    sim_active_worker = sim_running_worker = nullptr;
    self.report_here(fault::local_bounds, site, space::none, address);
    sim_active_worker = sim_running_worker = &self;
    return;
  }
  if (!is_program_variable(address)) self.break_off(fault::illegal_address, site, address);
  note_access(self, site, address, frame);
}

[[gnu::noinline, gnu::cold, noreturn]] void misaligned(worker& self, std::uint64_t site, std::uintptr_t address) {
  self.break_off(fault::misaligned, site, address);
}

/// The kernel has begun that ask_for_kernel asks for.
[[gnu::noinline, gnu::cold]] void tell_kernel(std::uintptr_t pc) {
  if (function_at(pc) == 0) return;
  sim_answer = pc;
  std::longjmp(*sim_asking, 1);
}

[[gnu::noinline, gnu::cold]] void observe_host(std::uintptr_t address, std::size_t bytes, operation op,
                                               std::uintptr_t pc) {
  if (sim_asking) tell_kernel(pc);
  host_access(address, make_site(pc, bytes, op));
}

[[gnu::always_inline]] inline void observe(std::uintptr_t address, std::size_t bytes, operation op,
                                           const caller& from) {
  worker* self = sim_active_worker;
  if (!self) {
    if (!sim_running_worker && address - heap_base < heap_bytes) [[unlikely]]
      observe_host(address, bytes, op, from.pc);
    return;
  }
  const std::uint64_t site = make_site(from.pc, bytes, op, from.depth);
  if (address - heap_base < heap_bytes || (address - self->shared_begin < self->shared_bytes &&
                                           address - self->coordinates_begin >= self->coordinates_bytes)) [[likely]] {
    if (address & (bytes - 1)) [[unlikely]]
      misaligned(*self, site, address);
    note_access(*self, site, address, from.frame);
  } else {
    observe_elsewhere(*self, address, site, from.frame);
  }
}

/// A copy of several words goes word by word, as the device would do it.
void observe_range(std::uintptr_t address, std::size_t bytes, operation op, const caller& from) {
  while (bytes > 0) {
    const std::size_t step = address % 4 == 0 && bytes >= 4 ? 4 : address % 2 == 0 && bytes >= 2 ? 2 : 1;
    observe(address, step, op, from);
    address += step;
    bytes -= step;
  }
}

/// Threads hand data over to each other by volatile variables and locks: that orders accesses in ways not followed
/// here.
void note_hand_over(std::uintptr_t address, std::uintptr_t frame) {
  if (worker* self = sim_running_worker) {
    (address - self->shared_begin < self->shared_bytes ? self->counts().hands_over_shared
                                                       : self->counts().hands_over_global) = true;
    if (!sim_active_worker) self->turn(frame);
  }
}

/// 16 bytes at a time where both sides lie so; what their type is, the call does not tell.
void observe_copy(const void* to, const void* source, std::size_t bytes, const caller& from) {
  auto t = reinterpret_cast<std::uintptr_t>(to), f = reinterpret_cast<std::uintptr_t>(source);
  if (!sim_active_worker) {  // host code: the first byte tells
    observe(f, 1, operation::load, from);
    observe(t, 1, operation::store, from);
    return;
  }
  for (; bytes >= 16 && t % 16 == 0 && f % 16 == 0; bytes -= 16, t += 16, f += 16) {
    observe(f, 16, operation::load, from);
    observe(t, 16, operation::store, from);
  }
  observe_range(f, bytes, operation::load, from);
  observe_range(t, bytes, operation::store, from);
}

}  // namespace

void observe_atomic(const volatile void* address, std::size_t bytes, const void* pc, bool in_warp) {
  observe(reinterpret_cast<std::uintptr_t>(address), bytes, in_warp ? atomic_in_warp : operation::atomic,
          caller_at(pc));
}
void observe_load(const volatile void* address, std::size_t bytes, const void* pc) {
  observe(reinterpret_cast<std::uintptr_t>(address), bytes, operation::load, caller_at(pc));
}
void observe_store(const volatile void* address, std::size_t bytes, const void* pc) {
  observe(reinterpret_cast<std::uintptr_t>(address), bytes, operation::store, caller_at(pc));
}
void observe_copy_begin(const volatile void* address, std::size_t bytes, const void* pc) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const worker* self = sim_active_worker;
  if (self && at - self->shared_begin < self->shared_bytes) observe(at, bytes, operation::copy, caller_at(pc));
}
void observe_copy_end(const volatile void* address, std::size_t bytes, const void* pc) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const worker* self = sim_active_worker;
  const bool shared = self && at - self->shared_begin < self->shared_bytes;
  observe(at, bytes, shared ? operation::copied : operation::store, caller_at(pc));
}
void hand_over(const volatile void* address) {
  note_hand_over(reinterpret_cast<std::uintptr_t>(address), frame_here());
}

}  // namespace sim

// ---- what the compiler calls (-fsanitize=thread and -fsanitize-coverage=trace-pc; their libraries are not linked) ---

extern "C" void __sanitizer_cov_trace_pc() {
  const sim::caller from = sim::caller_here();
  if (sim::worker* self = sim_active_worker) [[likely]] {
    sim::note_access(*self, sim::make_site(from.pc, 0, sim::operation::block, from.depth), 0, from.frame);
  } else if (sim_running_worker) {
    sim_running_worker->turn(from.frame);
  } else if (sim_asking) [[unlikely]] {
    sim::tell_kernel(from.pc);
  }
}

// An index beyond its array (-fsanitize=bounds).
extern "C" void __ubsan_handle_out_of_bounds(void*, void* index) {
  const sim::caller from = sim::caller_here();
  if (sim::worker* self = sim_active_worker)
    sim::note_access(*self, sim::make_site(from.pc, 0, sim::operation::index, from.depth),
                     reinterpret_cast<std::uintptr_t>(index), from.frame);
}

#define SIM_HOOK(name, bytes, op)                                                                           \
  extern "C" void name(void* address) {                                                                     \
    sim::observe(reinterpret_cast<std::uintptr_t>(address), bytes, sim::operation::op, sim::caller_here()); \
  }
#define SIM_VOLATILE_HOOK(name, bytes, op)                                                    \
  extern "C" void name(void* address) {                                                       \
    const sim::caller from = sim::caller_here();                                              \
    sim::note_hand_over(reinterpret_cast<std::uintptr_t>(address), from.frame);               \
    sim::observe(reinterpret_cast<std::uintptr_t>(address), bytes, sim::operation::op, from); \
  }
// The compiler knows of these that the type need not lie on a multiple of its size: the device takes it by words.
#define SIM_UNALIGNED_HOOK(name, bytes, op)                                                                       \
  extern "C" void name(void* address) {                                                                           \
    sim::observe_range(reinterpret_cast<std::uintptr_t>(address), bytes, sim::operation::op, sim::caller_here()); \
  }
#define SIM_HOOKS(bytes)                                                 \
  SIM_HOOK(__tsan_read##bytes, bytes, load)                              \
  SIM_HOOK(__tsan_write##bytes, bytes, store)                            \
  SIM_UNALIGNED_HOOK(__tsan_unaligned_read##bytes, bytes, load)          \
  SIM_UNALIGNED_HOOK(__tsan_unaligned_write##bytes, bytes, store)        \
  SIM_VOLATILE_HOOK(__tsan_volatile_read##bytes, bytes, load)            \
  SIM_VOLATILE_HOOK(__tsan_volatile_write##bytes, bytes, store)          \
  SIM_UNALIGNED_HOOK(__tsan_unaligned_volatile_read##bytes, bytes, load) \
  SIM_UNALIGNED_HOOK(__tsan_unaligned_volatile_write##bytes, bytes, store)
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
  sim::observe_range(reinterpret_cast<std::uintptr_t>(address), bytes, sim::operation::load, sim::caller_here());
}
void __tsan_write_range(void* address, std::size_t bytes) {
  sim::observe_range(reinterpret_cast<std::uintptr_t>(address), bytes, sim::operation::store, sim::caller_here());
}
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}
}

// simcc gives kernels these for memcpy and its kind, which compilers also make of copies in the source (clang: of each
// struct over 8 bytes).
#define SIM_COPY(name)                                                         \
  extern "C" void* sim_##name(void* to, const void* from, std::size_t bytes) { \
    if (bytes > 0) sim::observe_copy(to, from, bytes, sim::caller_here());     \
    return std::name(to, from, bytes);                                         \
  }
SIM_COPY(memcpy)
SIM_COPY(memmove)
extern "C" void* sim_memset(void* to, int value, std::size_t bytes) {
  if (sim_active_worker)
    sim::observe_range(reinterpret_cast<std::uintptr_t>(to), bytes, sim::operation::store, sim::caller_here());
  return std::memset(to, value, bytes);
}

// The runtime of an instrumented atomic has to do the operation itself.
#define SIM_ATOMIC_RMW(bits, type, name)                                                                               \
  extern "C" type __tsan_atomic##bits##_##name(volatile type* address, type value, int) {                              \
    sim::observe(reinterpret_cast<std::uintptr_t>(address), sizeof(type), sim::operation::atomic, sim::caller_here()); \
    return __atomic_##name(address, value, __ATOMIC_SEQ_CST);                                                          \
  }
#define SIM_ATOMICS(bits, type)                                                                                        \
  extern "C" type __tsan_atomic##bits##_load(const volatile type* address, int) {                                      \
    const sim::caller from = sim::caller_here();                                                                       \
    sim::note_hand_over(reinterpret_cast<std::uintptr_t>(address), from.frame);                                        \
    sim::observe(reinterpret_cast<std::uintptr_t>(address), sizeof(type), sim::operation::load, from);                 \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                                                 \
  }                                                                                                                    \
  extern "C" void __tsan_atomic##bits##_store(volatile type* address, type value, int) {                               \
    const sim::caller from = sim::caller_here();                                                                       \
    sim::note_hand_over(reinterpret_cast<std::uintptr_t>(address), from.frame);                                        \
    sim::observe(reinterpret_cast<std::uintptr_t>(address), sizeof(type), sim::operation::store, from);                \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                                                \
  }                                                                                                                    \
  extern "C" type __tsan_atomic##bits##_exchange(volatile type* address, type value, int) {                            \
    sim::observe(reinterpret_cast<std::uintptr_t>(address), sizeof(type), sim::operation::atomic, sim::caller_here()); \
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                                    \
  extern "C" int __tsan_atomic##bits##_compare_exchange_strong(volatile type* address, type* expected, type value,     \
                                                               int, int) {                                             \
    sim::observe(reinterpret_cast<std::uintptr_t>(address), sizeof(type), sim::operation::atomic, sim::caller_here()); \
    return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);           \
  }                                                                                                                    \
  extern "C" int __tsan_atomic##bits##_compare_exchange_weak(volatile type* address, type* expected, type value, int,  \
                                                             int) {                                                    \
    sim::observe(reinterpret_cast<std::uintptr_t>(address), sizeof(type), sim::operation::atomic, sim::caller_here()); \
    return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);           \
  }                                                                                                                    \
  extern "C" type __tsan_atomic##bits##_compare_exchange_val(volatile type* address, type expected, type value, int,   \
                                                             int) {                                                    \
    sim::observe(reinterpret_cast<std::uintptr_t>(address), sizeof(type), sim::operation::atomic, sim::caller_here()); \
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                 \
    return expected;                                                                                                   \
  }                                                                                                                    \
  SIM_ATOMIC_RMW(bits, type, fetch_add)                                                                                \
  SIM_ATOMIC_RMW(bits, type, fetch_sub)                                                                                \
  SIM_ATOMIC_RMW(bits, type, fetch_and)                                                                                \
  SIM_ATOMIC_RMW(bits, type, fetch_or)                                                                                 \
  SIM_ATOMIC_RMW(bits, type, fetch_xor)                                                                                \
  SIM_ATOMIC_RMW(bits, type, fetch_nand)
SIM_ATOMICS(8, std::uint8_t)
SIM_ATOMICS(16, std::uint16_t)
SIM_ATOMICS(32, std::uint32_t)
SIM_ATOMICS(64, std::uint64_t)
