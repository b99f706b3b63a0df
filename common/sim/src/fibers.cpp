// A block's threads as fibers of one OS thread.
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "debugger.hpp"
#include "guard.hpp"
#include "hooks.hpp"
#include "worker.hpp"

namespace sim {
namespace {

/// Handles an access to the page below a full stack, and a call through a pointer to no function. Other crashes happen
/// as they would without the simulated device.
void end_where_stack_is_full(int, siginfo_t* crash, void* context) {
  worker* self = sim_running_worker;
  const auto* at = static_cast<const ucontext_t*>(context);
  if (self && SIM_INTERRUPTED_AT(at) == reinterpret_cast<std::uintptr_t>(crash->si_addr))
    stop_kernel(
        fault::trap, reinterpret_cast<const void*>(SIM_INTERRUPTED_CALLER(at)),
        "call through a pointer that is null or does not point to a function: take the address on the device, in a "
        "kernel or from a __device__ variable");
  if (self && reinterpret_cast<std::uintptr_t>(crash->si_addr) - self->stacks_begin < max_stacks * stack_bytes)
    self->end_at_full_stack();
  std::signal(SIGSEGV, SIG_DFL);
}

/// An integer division without a result traps on x86-64; on a GPU its result is undefined.
void end_at_division(int, siginfo_t* crash, void*) {
  if (sim_running_worker)
    stop_kernel(
        fault::trap, static_cast<char*>(crash->si_addr) + 1,  // the address after a call
        "integer division by zero, or of INT_MIN by -1: on a GPU the result is undefined; test the divisor first");
  std::signal(SIGFPE, SIG_DFL);
}

}  // namespace

/// Installs the handler for this OS thread. A program's own handler stays.
void worker::watch_crashes() {
  const auto watch = [](int signal, void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_DFL) return;
    now.sa_sigaction = handler;
    now.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_NODEFER);
    sigaction(signal, &now, nullptr);
  };
  watch(SIGSEGV, end_where_stack_is_full);
  watch(SIGFPE, end_at_division);
  stack_t other{};
  sigaltstack(nullptr, &other);
  if (!(other.ss_flags & SS_DISABLE)) return;
  other = {new char[stack_bytes], 0, stack_bytes};  // never freed: the thread needs it until it ends
  sigaltstack(&other, nullptr);
}

void worker::end_at_full_stack() {
  const bool none = write == records_[lane_number()].begin;
  abort_kernel(fault::trap,
               none ? make_site(reinterpret_cast<std::uintptr_t>(__executable_start), 0, operation::load)
                    : make_site(site_pc(write[-1].site), 0, operation::load),
               0,
               "stack overflow: calls and local arrays of this thread need more than " +
                   std::to_string(stack_bytes / 1024) + " KiB; does the recursion end?");
}

worker::worker() {
  stack_memory_ = static_cast<char*>(mmap(nullptr, max_stacks * stack_bytes, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0));
  if (stack_memory_ == MAP_FAILED) std::abort();
  leave_out_of_dumps(stack_memory_, max_stacks * stack_bytes);
  note_stacks(stack_memory_, max_stacks * stack_bytes);
  stacks_begin = reinterpret_cast<std::uintptr_t>(stack_memory_);
  for (std::size_t i = 0; i < lanes_per_warp; ++i)
    records_[i].begin = records_[i].read = records_[i].write = record_memory_.data() + i * record_stride;
}

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
  // Guard pages for the first stacks only: the system does not allow enough mappings for all.
  if (i < max_threads) mprotect(stack_memory_ + i * stack_bytes, page_bytes(), PROT_NONE);
  // Offset the tops within their pages; otherwise all would fall into the same cache sets.
  stacks_.push_back({stack_memory_ + (i + 1) * stack_bytes - (i % 64) * 64, nullptr});
  keep_in_dumps(reinterpret_cast<std::uintptr_t>(stacks_.back().top) - stack_bytes / 8, stack_bytes / 8);
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
  if (debugged.attached) debugged.current = static_cast<int>(current_number_);
}

/// Reads the callee-saved registers of the kernel's code, whose frame ends at `frame`: our own functions in
/// between may have saved them anywhere. False if the stack cannot be unwound.
[[gnu::noinline, gnu::cold]] bool worker::look(std::uintptr_t frame) {
  sim_active_worker = sim_running_worker = nullptr;
  caller_stack_ = frame;
  const auto take = [](_Unwind_Context* at, void* to) {
    worker& self = *static_cast<worker*>(to);
    if (_Unwind_GetCFA(at) < self.caller_stack_) return _URC_NO_REASON;  // one of our functions
    std::size_t i = 0;
    for (const int number : {SIM_KEPT_REGISTERS}) self.caller_registers_[i++] = _Unwind_GetGR(at, number);
    self.caller_registers_[i] = _Unwind_GetIP(at);
    return _URC_NORMAL_STOP;
  };
  return _Unwind_Backtrace(take, this) != _URC_END_OF_STACK;
}

/// Runs the thread until it yields. Returns how many steps it took.
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
  recording_ = observing_ || look_ || may_spin(thread);
  enter();
  const context::transfer_t back = context::jump_fcontext(stack->context, this);
  sim_active_worker = sim_running_worker = nullptr;
  if (debugged.attached) debugged.current = -1;
  stack->context = back.fctx;
  lane_records& records = records_[lane_number()];
  const std::uint64_t steps = static_cast<std::uint64_t>(write - records.write) + turns_;
  records.write = write;
  current_->steps += steps;
  current_->depth = last_depth();
  if (current_->now == state::done) {  // the fiber has run all new lanes
    current_->stack = nullptr;
    free_stacks_.push_back(stack);
  }
  if (looked_at_) {
    remember_state(*current_, records);
  } else {
    current_->as_before = false;
    current_->alone = current_->now == state::ready ? current_->alone + steps : 0;
    progressed_ = true;
  }
  if (!observing_) records.write = records.begin;
  return steps;
}

/// A thread whose state (stack, registers, and the values it has just read) repeats is spinning: it waits for another
/// thread to change a value that it reads.
void worker::remember_state(thread_state& thread, const lane_records& records) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  const auto mix = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x9e37'79b9'7f4a'7c15 + (hash >> 29); };
  mix(thread.clock);
  for (const std::uint64_t value : caller_registers_) mix(value);
  for (std::uintptr_t at = caller_stack_; at + 8 <= stack_top; at += 8)
    mix(*reinterpret_cast<const std::uint64_t*>(at));
  const std::ptrdiff_t recent = std::min<std::ptrdiff_t>(records.write - records.begin, 32);
  for (const access* a = records.write - recent; a != records.write; ++a) {
    if (site_operation(a->site) >= operation::order) continue;  // has a number instead of an address
    const std::uintptr_t address = a->address & address_mask;
    mix(address);  // also for an incomplete copy
    if (site_operation(a->site) <= operation::atomic && address % word_bytes == 0 && site_bytes(a->site) >= 4)
      mix(__atomic_load_n(reinterpret_cast<const std::uint32_t*>(address), __ATOMIC_RELAXED));
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
  progressed_ = true;
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

/// The thread has returned. Its fiber continues with the next lane of the warp that has not started yet.
bool worker::finish_and_take_next() {
  current_->now = state::done;
  progressed_ = true;
  lane_records& records = records_[lane_number()];
  records.write = observing_ ? write : records.begin;
  const unsigned next = current_number_ + 1;
  if (next % lanes_per_warp == 0 || next == threads().size() || threads()[next].now != state::fresh) return false;
  std::swap(threads()[next].stack, current_->stack);
  activate(threads()[next]);
  return true;
}

}  // namespace sim
