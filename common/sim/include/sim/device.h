// The device side of CUDA C++: qualifiers, coordinates, barriers, fences, cache hints.
#pragma once

#include <time.h>  // clock()

#include <type_traits>

#include "sim/call.h"
#include "sim/cxx20.h"
#include "sim/types.h"

// A kernel may be launched from anywhere with any arguments: the host compiler must not specialise it for one launch.
#ifdef __clang__
#define __global__ __attribute__((noinline, flatten))
#else
#define __global__ __attribute__((noinline, noipa, flatten))
#endif
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)  // simcc writes the limit into the kernel
#define __maxnreg__(...)
#define __cluster_dims__(...)  // ... and the dimensions
#ifndef __clang__
#define __builtin_assume(condition) static_cast<void>(0)  // clang has this builtin; so does nvcc
#endif
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__
// A block never changes OS threads, so thread-local storage serves as its shared memory.
#define __shared__ thread_local
#define __constant__ __attribute__((section("sim_constant")))
#define __managed__
#define CUDART_VERSION 13000
#define LAB_SIMULATED_DEVICE 1

namespace sim {
namespace types {
/// A dim3 without constructors: the compiler omits hooks only for reads of plain constants.
struct dimensions {
  unsigned x, y, z;
  operator dim3() const { return {x, y, z}; }
};
}  // namespace types
/// What simcc makes of __launch_bounds__: the most threads of a block.
constexpr unsigned launch_bounds(long threads, long = 0, long = 0) { return static_cast<unsigned>(threads); }
/// A value that unobserved code can construct and copy without running the program's code.
template <class T>
inline constexpr bool plain = std::is_trivial_v<T>&& std::is_trivially_constructible_v<T, T&>;
/// The types that one load or store of a thread can move.
template <class T>
inline constexpr bool moves_at_once = std::is_arithmetic_v<T> || is_vector<T>;

/// Marks the loop for assembly.cpp; `constexpr` functions may contain it, too.
__attribute__((always_inline)) inline void mark_rolled_loop() { asm volatile(".set sim_rolled, 0"); }
__attribute__((always_inline)) constexpr void rolled_loop() {
  return __builtin_is_constant_evaluated() ? void() : mark_rolled_loop();
}
}  // namespace sim

// Const here, so that the compiler adds no hooks for reading them; the workers set them.
extern const __thread uint3 threadIdx;
extern const __thread uint3 blockIdx;
extern const __thread sim::types::dimensions blockDim;
extern const __thread sim::types::dimensions gridDim;
constexpr int warpSize = 32;

// ---- barriers, fences, clock

SIM_CALLED_HERE void __syncthreads() { sim::block_barrier(SIM_CALLER); }
SIM_CALLED_HERE int __syncthreads_count(int predicate) { return sim::block_barrier_count(predicate, SIM_CALLER); }
SIM_CALLED_HERE int __syncthreads_or(int predicate) { return sim::block_barrier_count(predicate, SIM_CALLER) > 0; }
SIM_CALLED_HERE int __syncthreads_and(int predicate) {
  return sim::block_barrier_count(predicate == 0, SIM_CALLER) == 0;
}
/// A numbered barrier of some or all threads of the block, as bar.sync in PTX.
SIM_CALLED_HERE void __barrier_sync(unsigned id) { sim::named_barrier(id, 0, true, SIM_CALLER); }
SIM_CALLED_HERE void __barrier_sync_count(unsigned id, unsigned threads) {
  sim::named_barrier(id, threads, true, SIM_CALLER);
}
inline void __threadfence() { sim::fence(); }
inline void __threadfence_block() { sim::fence(sim::scope::block); }
inline void __threadfence_system() { sim::fence(); }
inline long long clock64() { return static_cast<long long>(sim::modelled_cycles()); }

// ---- loads and stores with a cache hint: the same traffic, counted for the calling line.

namespace sim {
typedef int sixteen_byte_word __attribute__((vector_size(16), may_alias));
/// Wider types go in pieces of 16 bytes: double4 takes two. clang would split a float4.
template <class T>
__forceinline__ void move(T* to, const T* from) {
  if constexpr (sizeof(T) % 16 == 0)
    for (unsigned i = 0; i < sizeof(T) / 16; ++i)
      reinterpret_cast<sixteen_byte_word*>(to)[i] = reinterpret_cast<const sixteen_byte_word*>(from)[i];
  else
    *to = *from;
}
}  // namespace sim

#define SIM_CACHED_LOAD(name)                                                                              \
  template <class T>                                                                                       \
  __forceinline__ T name(const T* address) {                                                               \
    static_assert(sim::moves_at_once<T>, #name " moves CUDA's own types; move a struct member by member"); \
    T value;                                                                                               \
    sim::move(&value, address);                                                                            \
    return value;                                                                                          \
  }
#define SIM_CACHED_STORE(name)                                                                             \
  template <class T>                                                                                       \
  __forceinline__ void name(T* address, sim::same_t<T> value) {                                            \
    static_assert(sim::moves_at_once<T>, #name " moves CUDA's own types; move a struct member by member"); \
    sim::move(address, &value);                                                                            \
  }
SIM_CACHED_LOAD(__ldg)
SIM_CACHED_LOAD(__ldca)
SIM_CACHED_LOAD(__ldcg)
SIM_CACHED_LOAD(__ldcs)
SIM_CACHED_LOAD(__ldlu)
SIM_CACHED_LOAD(__ldcv)
SIM_CACHED_STORE(__stwb)
SIM_CACHED_STORE(__stcg)
SIM_CACHED_STORE(__stcs)
SIM_CACHED_STORE(__stwt)
#undef SIM_CACHED_LOAD
#undef SIM_CACHED_STORE

// ---- address spaces, and the end of a kernel

namespace sim {
bool is_shared(const void* address);
bool is_global(const void* address);
unsigned multiprocessors();
/// Ends the kernel like a hardware fault.
[[noreturn]] void trap(const void* pc);
}  // namespace sim

inline unsigned __isShared(const void* address) { return sim::is_shared(address); }
inline unsigned __isGlobal(const void* address) { return sim::is_global(address); }
inline unsigned __isLocal(const void* address) { return !sim::is_shared(address) && !sim::is_global(address); }
inline std::size_t __cvta_generic_to_shared(const void* address) { return sim::shared_offset(address); }
inline std::size_t __cvta_generic_to_global(const void* address) { return reinterpret_cast<std::size_t>(address); }
inline void __nanosleep(unsigned) { sim::spin(); }
SIM_CALLED_HERE void __trap() { sim::trap(SIM_CALLER); }
inline void __brkpt() {}
inline void __prof_trigger(int) {}

// Programmatic dependent launch. Here a launch begins when the previous one has ended, so nothing waits; the checks
// still require accesses to the previous kernel's memory to come after the wait.
inline void cudaGridDependencySynchronize() { sim::note_dependency(true); }
inline void cudaTriggerProgrammaticLaunchCompletion() { sim::note_dependency(false); }
