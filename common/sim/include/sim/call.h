// How device code calls the simulated device. `pc` identifies the calling line.
#pragma once

#include <cstddef>
#include <cstdint>

// SIM_CALLED_HERE marks functions that report their caller's line, so they must not be inlined. SIM_UNOBSERVED marks
// functions that access memory on behalf of another line and report the access themselves.
#ifdef __clang__
#define SIM_UNCOUNTED no_sanitize("coverage")
#define SIM_UNHOOKED disable_sanitizer_instrumentation  // no_sanitize("thread") leaves the atomics hooked
#else
#define SIM_UNCOUNTED no_sanitize_coverage
#define SIM_UNHOOKED no_sanitize("thread")
#endif
// The function's accesses and basic blocks do not count as the kernel's.
#define SIM_QUIET __attribute__((SIM_UNCOUNTED, SIM_UNHOOKED))
#define SIM_CALLED_HERE __attribute__((noinline)) SIM_QUIET inline
#define SIM_CALLER __builtin_return_address(0)
#define SIM_UNOBSERVED __attribute__((noinline)) SIM_QUIET

namespace sim {

/// The types of values that programs get. Argument-dependent lookup searches a type's namespace, and programs may not
/// call sim's functions, so these types have their own namespace.
namespace types {
/// The threads that an atomic or a fence orders: all, or those of a block.
enum class scope : unsigned char { device, block };
}  // namespace types
using namespace types;

/// Waits for all threads of the block.
void block_barrier(const void* pc);
int block_barrier_count(int predicate, const void* pc);  ///< threads of the block with a true predicate
/// Waits for all threads of the grid. Ends the kernel with an error if it was not launched cooperatively.
void grid_barrier(const void* pc);
/// Arrives at one of the block's 16 numbered barriers and, if `wait`, waits until `threads` threads have arrived; 0:
/// all, and threads that have returned count as having arrived.
void named_barrier(unsigned id, unsigned threads, bool wait, const void* pc);
/// Makes other threads see this thread's earlier writes before its later ones.
void fence(scope within = scope::device);
/// Waits for the previous kernel, if this one may overlap with it (cudaGridDependencySynchronize), or lets the next one
/// begin (cudaTriggerProgrammaticLaunchCompletion).
void note_dependency(bool waits);
/// Call in each iteration of a loop that waits for another thread to change memory: lets the others run.
void spin();
std::uint64_t modelled_cycles();

/// The lanes of a warp that meet in one call. `argument[i]` is lane i's argument, null if the lane takes no part.
struct warp_call {
  unsigned participants = 0;
  void* argument[32] = {};
  const void* pc = nullptr;  ///< the calling line
  template <class T>
  SIM_QUIET T& at(unsigned lane) const {
    return *static_cast<T*>(argument[lane]);
  }
  SIM_QUIET bool has(unsigned lane) const { return (participants >> lane) & 1; }
};

constexpr unsigned full_mask = 0xffffffffu;

/// Waits for the lanes of `mask`. The last one to arrive runs `combine` once, which stores each lane's result in its
/// argument. Lanes meet only in the same call: equal mask and equal `combine`. Lanes that have returned are ignored.
void meet(unsigned mask, void* argument, void (*combine)(const warp_call&), const void* pc);
/// Waits for the lanes that reach this line together. CUDA does not define which those are; here they are all lanes
/// that can reach it without waiting for anything else.
void meet_any(void* argument, void (*combine)(const warp_call&), const void* pc);
unsigned lane_number();
/// Reports lanes that have not joined a function for the whole warp.
void check_whole_warp(unsigned participants, const void* pc);

/// Tells the observer about an atomic access.
/// `in_warp`: nvcc first combines the values in the warp if all lanes share an address.
void observe_atomic(const volatile void* address, std::size_t bytes, const void* pc, bool in_warp = false,
                    scope within = scope::device);
/// The same for a load or store that one of our functions performs for the line at `pc`.
void observe_load(const volatile void* address, std::size_t bytes, const void* pc);
void observe_store(const volatile void* address, std::size_t bytes, const void* pc);
void observe_atomic_load(const volatile void* address, std::size_t bytes, const void* pc, scope within = scope::device);
void observe_atomic_store(const volatile void* address, std::size_t bytes, const void* pc,
                          scope within = scope::device);
/// An atomic exchange will write these bytes. Most programs ignore its result, so the bytes count as written from now
/// on.
void note_overwrite(const volatile void* address, std::size_t bytes);
/// Call before a compare-and-swap: it checks the value of the thread's last load from there, so that load may race with
/// atomics.
void note_compare(const volatile void* address);
/// An asynchronous copy into shared memory has started; a thread has waited for it.
void observe_copy_begin(const volatile void* address, std::size_t bytes, const void* pc);
void observe_copy_end(const volatile void* address, std::size_t bytes, const void* pc);
/// For the race check: orders everything that the calling thread, and threads it has acquired from, did so far before
/// what threads do after they acquire from this flag. Call release before changing the flag, and acquire after reading
/// it.
void release(const volatile void* flag, scope within = scope::device);
void acquire(const volatile void* flag, scope within = scope::device);
/// The offset into the block's shared memory, as in PTX.
std::size_t shared_offset(const void* address);
void* shared_address(std::size_t offset);
/// From now on, what was released to `from` can be acquired from `to`.
void pass_on(const volatile void* from, const volatile void* to);

}  // namespace sim
