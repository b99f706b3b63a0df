// The functions that a kernel's compiled code calls: barriers, warp functions and, at each access and basic block, the
// hooks of -fsanitize=thread and -fsanitize-coverage=trace-pc.
#include "hooks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <cwchar>

#include "faults.hpp"
#include "guard.hpp"
#include "host_functions.hpp"
#include "lines.hpp"
#include "sim/host_accesses.hpp"
#include "worker.hpp"

__thread uint3 threadIdx;
__thread uint3 blockIdx;
__thread uint3 blockDim;
__thread uint3 gridDim;

// Next to the coordinates in memory: see worker::run.
__thread sim::worker* sim_active_worker = nullptr;
__thread sim::worker* sim_running_worker = nullptr;
__thread std::jmp_buf* sim_asking = nullptr;
__thread std::uintptr_t sim_answer = 0;
__thread sim_host_watcher* sim_host_watch = nullptr;
__thread std::uint64_t sim_host_site = 0;
void sim_watch_host(sim_host_watcher* who) { sim_host_watch = who; }

namespace sim {

// ---- what kernels call ----------------------------------------------------------------------------------------------

namespace {

/// The kernel code that called one of our functions; its stack frame ends at `frame`.
struct caller {
  std::uintptr_t pc, frame;
  std::uint64_t depth;  // of nested calls
};
[[gnu::always_inline]] inline caller caller_here() {
  const worker* self = sim_active_worker;
  return {reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)), frame_here(),
          self ? self->depth_of(frame_here()) : 0};
}
/// For a known program counter but an unknown frame: assumes the depth of the last access.
[[gnu::always_inline]] inline caller caller_at(const void* pc) {
  const worker* self = sim_active_worker;
  return {reinterpret_cast<std::uintptr_t>(pc), frame_here(), self ? self->last_depth() : 0};
}

}  // namespace

namespace {
[[gnu::noinline, gnu::cold]] void report_empty_mask(const void* pc) {
  worker* self = sim_running_worker;
  const unobserved guard;
  self->report_here(fault::missing_lane, make_site(reinterpret_cast<std::uintptr_t>(pc), 0, operation::load),
                    space::shared, 0, "the mask is 0");
}
}  // namespace

void meet(unsigned mask, void* argument, combine_function combine, const void* pc) {
  if (mask == any_lanes) [[unlikely]]
    report_empty_mask(pc);
  sim_running_worker->meet(mask, argument, combine, reinterpret_cast<std::uintptr_t>(pc), frame_here());
}
void meet_any(void* argument, combine_function combine, const void* pc) {
  sim_running_worker->meet(any_lanes, argument, combine, reinterpret_cast<std::uintptr_t>(pc), frame_here());
}
bool in_kernel() { return sim_running_worker != nullptr; }
void stop_kernel(fault what, const void* pc, std::string_view detail) {
  worker* self = sim_running_worker;
  sim_active_worker = sim_running_worker = nullptr;
  self->abort_kernel(what, make_site(reinterpret_cast<std::uintptr_t>(pc ? pc : call_of_program()), 0, operation::load),
                     0, std::string(detail));
}
unsigned lane_number() { return sim_running_worker->lane_number(); }
void check_whole_warp(unsigned participants, const void* pc) {
  worker* self = sim_running_worker;
  if (participants == full_mask || !self) return;
  const unobserved guard;
  self->report_here(fault::missing_lane, make_site(reinterpret_cast<std::uintptr_t>(pc), 0, operation::load),
                    space::shared, 0, std::to_string(__builtin_popcount(~participants)) + " lanes do not participate");
}
void count_tensor(element a, element sum, unsigned m, unsigned n, unsigned k, unsigned instructions) {
  if (lane_number() == 0) sim_running_worker->count_tensor(a, sum, std::uint64_t{2} * m * n * k, instructions);
}
void count_matrix_access(const void* pc) {
  if (lane_number() == 0) sim_running_worker->count_matrix_access(reinterpret_cast<std::uintptr_t>(pc));
}
void grid_barrier(const void* pc) {
  sim_running_worker->grid_barrier(reinterpret_cast<std::uintptr_t>(pc), frame_here());
}
void note_dependency(bool waits) {
  worker* self = sim_active_worker;
  if (self && self->order() && self->may_be_early())
    self->note_order(waits ? waited_for_kernel_before : let_next_kernel_begin, frame_here());
}
void fence(scope within) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  worker* self = sim_running_worker;
  if (!self) return;
  self->counts().note_fence(within);
  if (block_order* order = sim_active_worker ? self->order() : nullptr)
    self->note_order(order->fence(self->number_in_block()), frame_here());
}
void named_barrier(unsigned id, unsigned threads, bool wait, const void* pc) {
  sim_running_worker->named_barrier(id, threads, wait, reinterpret_cast<std::uintptr_t>(pc), frame_here());
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
  const std::uint64_t cycles = ticks += cycles_per_clock_read;
  if (worker* self = sim_running_worker) self->read_clock(cycles);
  return cycles;
}

std::uintptr_t ask_for_kernel(void (*body)(void*), void* frame) {
  std::jmp_buf here;
  sim_answer = 0;
  sim_asking = &here;
  if (setjmp(here) == 0) body(frame);  // runs up to the kernel's first basic block or access to device memory
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

constexpr std::uint64_t at_operation(std::uint64_t site, operation op) {
  return (site & ~(std::uint64_t{0xff} << 40)) | (static_cast<std::uint64_t>(op) << 40);
}

operation remote_operation(std::uint64_t site) {
  const operation op = site_operation(site);
  return op == operation::load    ? operation::remote_load
         : op == operation::store ? operation::remote_store
                                  : operation::remote_atomic;
}

/// Ends the kernel unless it can access a variable there.
void check_variable(worker& self, std::uint64_t site, std::uintptr_t address) {
  const unobserved look_up;  // the program's hooked copies of std::string's functions may run here
  const operation op = site_operation(site);
  const bool stores = op == operation::store || op == operation::atomic;
  if (is_table(address ^ hosts_table))
    self.abort_kernel(fault::illegal_address, site, 0, variable_at(address ^ hosts_table));
  if (!is_program_variable(address) || (stores && is_guarded(site_pc(site)) && !is_own_variable(address)))
    self.abort_kernel(fault::illegal_address, site, address);
  if (const std::string name = host_variable_at(address); !name.empty())
    self.abort_kernel(fault::illegal_address, site, address, name);
}

[[gnu::noinline, gnu::cold, noreturn]] void store_to_constant(worker& self, std::uint64_t site) {
  self.abort_kernel(fault::trap, site, 0,
                    "store to a __constant__ variable, which kernels can only load; write it on the host, with "
                    "cudaMemcpyToSymbol");
}

[[gnu::noinline, gnu::cold]] void observe_elsewhere(worker& self, std::uintptr_t address, std::uint64_t site,
                                                    std::uintptr_t frame) {
  if (address - self.coordinates_begin < self.coordinates_bytes && site_operation(site) != operation::load)
    self.abort_kernel(fault::out_of_bounds, site, address);  // an index too far beyond its array
  const bool own =
      address - self.frame_begin < self.frame_bytes || address - self.coordinates_begin < self.coordinates_bytes;
  if (own || is_program_constant(address)) {
    const operation op = site_operation(site);
    if (!own && (op == operation::store || op == operation::atomic)) store_to_constant(self, site);
    // The launch's arguments, threadIdx (which clang reports).
    return note_access(self, at_operation(site, operation::local), address, frame);
  }
  if (self.access_in_cluster(site, address))
    return note_access(self, at_operation(site, remote_operation(site)), address, frame);
  if (address - self.stacks_begin < max_stacks * stack_bytes) {
    sim_active_worker = sim_running_worker = nullptr;
    self.report_here(fault::local_bounds, site, space::none, address);
    sim_active_worker = sim_running_worker = &self;
    return;
  }
  check_variable(self, site, address);
  note_access(self, site, address, frame);
}

[[gnu::noinline, gnu::cold, noreturn]] void misaligned(worker& self, std::uint64_t site, std::uintptr_t address) {
  self.abort_kernel(fault::misaligned, site, address);
}

/// The kernel that ask_for_kernel looks for has started.
[[gnu::noinline, gnu::cold]] void tell_kernel(std::uintptr_t pc) {
  if (function_at(pc) == 0) return;
  sim_answer = pc;
  std::longjmp(*sim_asking, 1);
}

[[gnu::noinline, gnu::cold]] void observe_host(std::uintptr_t address, std::size_t bytes, operation op,
                                               std::uintptr_t pc) {
  if (sim_asking) tell_kernel(pc);
  host_access(address, make_site(pc, bytes < 256 ? bytes : 1, op));  // a copy reports its first byte
}

[[gnu::always_inline]] inline void observe(std::uintptr_t address, std::size_t bytes, operation op,
                                           const caller& from) {
  worker* self = sim_active_worker;
  if (!self) {
    if (sim_host_watch && !sim_running_worker) [[unlikely]] {
      sim_host_site = make_site(from.pc, 0, op);
      sim_host_watch->see(address, bytes, site_operation(sim_host_site) != operation::load);
    }
    if (sim_running_worker) return;
    if (address - heap_base < heap_bytes) [[unlikely]]
      observe_host(address, bytes, op, from.pc);
    else if (site_operation(make_site(0, 0, op)) != operation::load && is_guarded(from.pc))
      check_host_store(address, bytes, from.pc);
    return;
  }
  std::uint64_t site = make_site(from.pc, bytes, op, from.depth);
  if (address - heap_base < heap_bytes || (address - self->shared_begin < self->shared_bytes &&
                                           address - self->coordinates_begin >= self->coordinates_bytes)) [[likely]] {
    if (address & (bytes - 1)) [[unlikely]]
      misaligned(*self, site, address);
    if (op == operation::store) address |= hash_of_value(address, bytes) << address_bits;
  } else if (self->stack_top - address <= stack_bytes) {
    site = at_operation(site, operation::local);
  } else {
    return observe_elsewhere(*self, address, site, from.frame);
  }
  note_access(*self, site, address, from.frame);
}

/// Records a copy word by word, as the device would make it.
void observe_range(std::uintptr_t address, std::size_t bytes, operation op, const caller& from) {
  while (bytes > 0) {
    const std::size_t step = address % 4 == 0 && bytes >= 4 ? 4 : address % 2 == 0 && bytes >= 2 ? 2 : 1;
    observe(address, step, op, from);
    address += step;
    bytes -= step;
  }
}

void note_hand_over(std::uintptr_t address, std::uintptr_t frame) {
  if (worker* self = sim_running_worker) {
    if (address - self->shared_begin >= self->shared_bytes) self->counts().hands_over_global = true;
    if (!sim_active_worker) self->turn(frame);
  }
}

std::uintptr_t flag_at(std::uintptr_t address) { return address / 4 * 4; }
std::uintptr_t flag_at(const volatile void* address) { return flag_at(reinterpret_cast<std::uintptr_t>(address)); }

void release_at(const volatile void* flag, std::uintptr_t frame, scope within) {
  if (worker* self = sim_running_worker) self->counts().note_fence(within);
  note_hand_over(reinterpret_cast<std::uintptr_t>(flag), frame);
  if (worker* self = sim_active_worker)
    if (block_order* order = self->order())
      self->note_order(order->release(self->number_in_block(), flag_at(flag)), frame);
}
void acquire_at(const volatile void* flag, std::uintptr_t frame, scope within) {
  if (worker* self = sim_running_worker) self->counts().note_fence(within);
  note_hand_over(reinterpret_cast<std::uintptr_t>(flag), frame);
  if (worker* self = sim_active_worker)
    if (block_order* order = self->order())
      self->note_order(order->acquire(self->number_in_block(), flag_at(flag)), frame);
}

enum class flag_access : std::uint8_t { load, store, update };

/// Threads hand over data through flags: volatile variables, atomics. block_order tracks the resulting order within a
/// block, not between blocks.
[[gnu::noinline]] void note_flag(std::uintptr_t address, flag_access how, std::uintptr_t frame) {
  worker* self = sim_active_worker;
  block_order* order = self ? self->order() : nullptr;
  if (!order || !order->active()) return;
  const std::size_t thread = self->number_in_block();
  if (how == flag_access::load) order->load_flag(thread, flag_at(address));
  if (how == flag_access::store) order->store_flag(thread, flag_at(address));
  // Threads that ran meanwhile may have changed it.
  while (how == flag_access::update && self->note_order(order->update_flag(thread, flag_at(address)), frame)) {
  }
}

/// A compiler-builtin atomic, which an instrumented program's runtime must perform; `how`: its memory order.
class builtin_atomic {
 public:
  builtin_atomic(const volatile void* address, std::size_t bytes, int how, const caller& from,
                 flag_access access = flag_access::update)
      : address_(address), frame_(from.frame), acquires_(how != __ATOMIC_RELAXED && access != flag_access::store) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const operation op = access == flag_access::update ? operation::atomic
                         : access == flag_access::load ? with(operation::load, strength::atomic)
                                                       : with(operation::store, strength::atomic);
    if (access != flag_access::update) note_hand_over(at, frame_);
    observe(at, bytes, op, from);
    note_flag(at, access, frame_);
    if (how != __ATOMIC_RELAXED && access != flag_access::load) release_at(address, frame_, scope::device);
  }
  ~builtin_atomic() {
    if (acquires_) acquire_at(address_, frame_, scope::device);
  }
  builtin_atomic(const builtin_atomic&) = delete;
  builtin_atomic& operator=(const builtin_atomic&) = delete;

 private:
  const volatile void* address_;
  std::uintptr_t frame_;
  bool acquires_;
};

/// Copies 16 bytes at a time if both sides are aligned to 16: the call does not pass the type.
void observe_copy(const void* to, const void* source, std::size_t bytes, const caller& from) {
  auto t = reinterpret_cast<std::uintptr_t>(to), f = reinterpret_cast<std::uintptr_t>(source);
  if (!sim_active_worker) {  // host code: reports the first byte, or all bytes to a listener that counts
    const bool all = sim_host_watch || is_guarded(from.pc);
    observe(f, all ? bytes : 1, operation::load, from);
    observe(t, all ? bytes : 1, operation::store, from);
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

void observe_atomic(const volatile void* address, std::size_t bytes, const void* pc, bool in_warp, scope within) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const unsigned how = static_cast<unsigned>(in_warp ? atomic_in_warp : operation::atomic);
  observe(at, bytes, static_cast<operation>(within == scope::block ? how | in_block_flag : how), caller_at(pc));
  note_flag(at, flag_access::update, frame_here());
}
void note_compare(const volatile void* address) {
  if (worker* self = sim_active_worker) self->note_compare(reinterpret_cast<std::uintptr_t>(address));
}
void observe_load(const volatile void* address, std::size_t bytes, const void* pc) {
  observe(reinterpret_cast<std::uintptr_t>(address), bytes, operation::load, caller_at(pc));
}
void observe_store(const volatile void* address, std::size_t bytes, const void* pc) {
  observe(reinterpret_cast<std::uintptr_t>(address), bytes, operation::store, caller_at(pc));
}
void observe_atomic_load(const volatile void* address, std::size_t bytes, const void* pc, scope within) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (within != scope::block) note_hand_over(at, frame_here());
  observe(at, bytes, with(operation::load, strength::atomic), caller_at(pc));
  note_flag(at, flag_access::load, frame_here());
}
void observe_atomic_store(const volatile void* address, std::size_t bytes, const void* pc, scope within) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (within != scope::block) note_hand_over(at, frame_here());
  observe(at, bytes, with(operation::store, strength::atomic), caller_at(pc));
  note_flag(at, flag_access::store, frame_here());
}
void note_overwrite(const volatile void* address, std::size_t bytes) {
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(address) - heap_base;
  if (!sim_active_worker || begin >= heap_bytes || !find_allocation(begin + heap_base)) return;
  for (std::uintptr_t b = begin; b < begin + bytes; ++b)
    __atomic_fetch_or(shadow().valid + b / word_bytes, static_cast<std::uint8_t>(1u << b % word_bytes),
                      __ATOMIC_RELAXED);
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
void release(const volatile void* flag, scope within) { release_at(flag, frame_here(), within); }
void acquire(const volatile void* flag, scope within) { acquire_at(flag, frame_here(), within); }
void pass_on(const volatile void* from, const volatile void* to) {
  if (worker* self = sim_active_worker)
    if (block_order* order = self->order()) order->pass_on(flag_at(from), flag_at(to));
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

// An index out of its array's bounds (-fsanitize=bounds).
extern "C" void __ubsan_handle_out_of_bounds(void*, void* index) {
  const sim::caller from = sim::caller_here();
  if (sim::worker* self = sim_active_worker)
    sim::note_access(*self, sim::make_site(from.pc, 0, sim::operation::index, from.depth),
                     reinterpret_cast<std::uintptr_t>(index), from.frame);
}

struct checked_place {  // begins with the compiler's description of a failed check
  const char* file;
  std::uint32_t line, column;
};

// A shift by more bits than a number has (-fsanitize=shift-exponent): C++ leaves the result undefined, and processors
// differ.
extern "C" void __ubsan_handle_shift_out_of_bounds(void* data, void*, void* by) {
  if (!sim_active_worker && !sim_running_worker) return;  // not in a kernel
  struct type {
    std::uint16_t kind, bits;  // `bits`: whether the type is signed, and the logarithm of its width
  };
  const struct shift {
    checked_place at;
    const type *number, *count;
  }& failed = *static_cast<shift*>(data);
  const int width = 1 << (failed.number->bits >> 1 & 7), count_width = 1 << (failed.count->bits >> 1 & 7);
  if (count_width > 64) return;
  const auto count =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(by) << (64 - count_width)) >> (64 - count_width);
  sim::note_shift(failed.at.file, failed.at.line, count, width);
}

// A non-void function ends without a return (-fsanitize=return): the code after it would run.
extern "C" void __ubsan_handle_missing_return(void* data) {
  const auto& at = *static_cast<checked_place*>(data);
  sim::end_program({at.file, static_cast<int>(at.line)},
                   "this function ends without a return, but must return a value; write one");
}

#define SIM_HOOK(name, bytes, op)                                                                           \
  extern "C" void name(void* address) {                                                                     \
    sim::observe(reinterpret_cast<std::uintptr_t>(address), bytes, sim::operation::op, sim::caller_here()); \
  }
#define SIM_VOLATILE_HOOK(name, bytes, op)                                                   \
  extern "C" void name(void* address) {                                                      \
    const sim::caller from = sim::caller_here();                                             \
    const auto at = reinterpret_cast<std::uintptr_t>(address);                               \
    sim::note_hand_over(at, from.frame);                                                     \
    sim::observe(at, bytes, with(sim::operation::op, sim::strength::volatile_access), from); \
    sim::note_flag(at, sim::flag_access::op, from.frame);                                    \
  }
// Types that the compiler knows may be unaligned: the device accesses them word by word.
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
void __tsan_vptr_update(void** address, void*) {  // a constructor's store of the object's vtable pointer
  sim::observe(reinterpret_cast<std::uintptr_t>(address), sizeof(void*), sim::operation::store, sim::caller_here());
}
void __tsan_vptr_read(void** address) {  // clang: of the object; it calls no hook for its table
  const sim::caller from = sim::caller_here();
  sim::observe(reinterpret_cast<std::uintptr_t>(address), sizeof(void*), sim::operation::load, from);
  sim::observe(reinterpret_cast<std::uintptr_t>(*address), sizeof(void*), sim::operation::load, from);
}
void __tsan_read_range(void* address, std::size_t bytes) {
  sim::observe_range(reinterpret_cast<std::uintptr_t>(address), bytes, sim::operation::load, sim::caller_here());
}
void __tsan_write_range(void* address, std::size_t bytes) {
  sim::observe_range(reinterpret_cast<std::uintptr_t>(address), bytes, sim::operation::store, sim::caller_here());
}
void __tsan_atomic_thread_fence(int) { sim::fence(sim::scope::device); }
void __tsan_atomic_signal_fence(int) {}
}

// simcc substitutes these for memcpy and similar functions in kernels. Compilers also generate such calls for copies in
// the source (clang: for each struct of more than 8 bytes).
#define SIM_COPY(name)                                                         \
  extern "C" void* sim_##name(void* to, const void* from, std::size_t bytes) { \
    if (bytes > 0) sim::observe_copy(to, from, bytes, sim::caller_here());     \
    return std::name(to, from, bytes);                                         \
  }
SIM_COPY(memcpy)
SIM_COPY(memmove)
extern "C" void* sim_memset(void* to, int value, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(to);
  if (sim_active_worker)
    sim::observe_range(at, bytes, sim::operation::store, sim::caller_here());
  else if (bytes > 0)  // as for copies
    sim::observe(at, sim_host_watch || sim::guarded ? bytes : 1, sim::operation::store, sim::caller_here());
  return std::memset(to, value, bytes);
}
// Kernels cannot call the functions below in CUDA, but the host compiler accepts them, and they must not copy
// unobserved.
extern "C" void* sim_mempcpy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) sim::observe_copy(to, from, bytes, sim::caller_here());
  return static_cast<std::byte*>(std::memcpy(to, from, bytes)) + bytes;
}
extern "C" void sim_bcopy(const void* from, void* to, std::size_t bytes) {
  if (bytes > 0) sim::observe_copy(to, from, bytes, sim::caller_here());
  std::memmove(to, from, bytes);
}
#define SIM_WIDE_COPY(name, moved)                                                           \
  extern "C" wchar_t* sim_##name(wchar_t* to, const wchar_t* from, std::size_t count) {      \
    if (count > 0) sim::observe_copy(to, from, count * sizeof(wchar_t), sim::caller_here()); \
    return std::wmemmove(to, from, count) + (moved);                                         \
  }
SIM_WIDE_COPY(wmemcpy, 0)
SIM_WIDE_COPY(wmemmove, 0)
SIM_WIDE_COPY(wmempcpy, count)
extern "C" wchar_t* sim_wmemset(wchar_t* to, wchar_t value, std::size_t count) {
  if (sim_active_worker)
    sim::observe_range(reinterpret_cast<std::uintptr_t>(to), count * sizeof(wchar_t), sim::operation::store,
                       sim::caller_here());
  return std::wmemset(to, value, count);
}

// The same for math functions that store a second result.
namespace sim {
namespace {
[[gnu::always_inline]] inline void observe_result(const volatile void* address, std::size_t bytes, const caller& from) {
  observe(reinterpret_cast<std::uintptr_t>(address), bytes, operation::store, from);
}
}  // namespace
}  // namespace sim
#define SIM_SECOND_RESULTS(type, suffix)                                 \
  extern "C" void sim_sincos##suffix(type x, type* sine, type* cosine) { \
    sim::observe_result(sine, sizeof(type), sim::caller_here());         \
    sim::observe_result(cosine, sizeof(type), sim::caller_here());       \
    sincos##suffix(x, sine, cosine);                                     \
  }                                                                      \
  extern "C" type sim_modf##suffix(type x, type* whole) {                \
    sim::observe_result(whole, sizeof(type), sim::caller_here());        \
    return modf##suffix(x, whole);                                       \
  }                                                                      \
  extern "C" type sim_frexp##suffix(type x, int* exponent) {             \
    sim::observe_result(exponent, sizeof(int), sim::caller_here());      \
    return frexp##suffix(x, exponent);                                   \
  }                                                                      \
  extern "C" type sim_remquo##suffix(type x, type y, int* quotient) {    \
    sim::observe_result(quotient, sizeof(int), sim::caller_here());      \
    return remquo##suffix(x, y, quotient);                               \
  }
SIM_SECOND_RESULTS(double, )
SIM_SECOND_RESULTS(float, f)

#define SIM_ATOMIC_RMW(bits, type, name)                                                      \
  extern "C" type __tsan_atomic##bits##_##name(volatile type* address, type value, int how) { \
    const sim::builtin_atomic around(address, sizeof(type), how, sim::caller_here());         \
    return __atomic_##name(address, value, __ATOMIC_SEQ_CST);                                 \
  }
#define SIM_ATOMICS(bits, type)                                                                                    \
  extern "C" type __tsan_atomic##bits##_load(const volatile type* address, int how) {                              \
    const sim::builtin_atomic around(address, sizeof(type), how, sim::caller_here(), sim::flag_access::load);      \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                                             \
  }                                                                                                                \
  extern "C" void __tsan_atomic##bits##_store(volatile type* address, type value, int how) {                       \
    const sim::builtin_atomic around(address, sizeof(type), how, sim::caller_here(), sim::flag_access::store);     \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                                            \
  }                                                                                                                \
  extern "C" type __tsan_atomic##bits##_exchange(volatile type* address, type value, int how) {                    \
    const sim::builtin_atomic around(address, sizeof(type), how, sim::caller_here());                              \
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                                \
  extern "C" int __tsan_atomic##bits##_compare_exchange_strong(volatile type* address, type* expected, type value, \
                                                               int how, int) {                                     \
    const sim::builtin_atomic around(address, sizeof(type), how, sim::caller_here());                              \
    return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
  }                                                                                                                \
  extern "C" int __tsan_atomic##bits##_compare_exchange_weak(volatile type* address, type* expected, type value,   \
                                                             int how, int) {                                       \
    const sim::builtin_atomic around(address, sizeof(type), how, sim::caller_here());                              \
    return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
  }                                                                                                                \
  extern "C" type __tsan_atomic##bits##_compare_exchange_val(volatile type* address, type expected, type value,    \
                                                             int how, int) {                                       \
    const sim::builtin_atomic around(address, sizeof(type), how, sim::caller_here());                              \
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);             \
    return expected;                                                                                               \
  }                                                                                                                \
  SIM_ATOMIC_RMW(bits, type, fetch_add)                                                                            \
  SIM_ATOMIC_RMW(bits, type, fetch_sub)                                                                            \
  SIM_ATOMIC_RMW(bits, type, fetch_and)                                                                            \
  SIM_ATOMIC_RMW(bits, type, fetch_or)                                                                             \
  SIM_ATOMIC_RMW(bits, type, fetch_xor)                                                                            \
  SIM_ATOMIC_RMW(bits, type, fetch_nand)
SIM_ATOMICS(8, std::uint8_t)
SIM_ATOMICS(16, std::uint16_t)
SIM_ATOMICS(32, std::uint32_t)
SIM_ATOMICS(64, std::uint64_t)
