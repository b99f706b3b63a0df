// The device side of CUDA C++: qualifiers, coordinates, barriers, warp functions, atomics, intrinsics.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sim/types.h"

// Launched from anywhere with anything: what the host compiler could conclude from one launch must not change the
// kernel.
#ifdef __clang__
#define __global__ __attribute__((noinline))
#else
#define __global__ __attribute__((noinline, noipa))
#endif
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__
// A block never leaves its OS thread, so a thread's storage is the block's shared memory.
#define __shared__ thread_local
#define __constant__ __attribute__((section("sim_constant")))
#define __managed__
#define CUDART_VERSION 13000
#define LAB_SIMULATED_DEVICE 1

namespace sim {
/// A dim3 without constructors: only reads of plain constants go unreported by the compiler.
struct dimensions {
  unsigned x, y, z;
  operator dim3() const { return {x, y, z}; }
};
}  // namespace sim

// Const here, so that the compiler does not report their reads; the scheduler sets them.
extern const __thread uint3 threadIdx;
extern const __thread uint3 blockIdx;
extern const __thread sim::dimensions blockDim;
extern const __thread sim::dimensions gridDim;
constexpr int warpSize = 32;

namespace sim {

enum class collective : std::uint8_t { sync, shuffle, shuffle_up, shuffle_down, shuffle_xor, ballot, any, all };

// `pc` tells the line that called; SIM_CALLED_HERE marks functions that pass theirs on and so must not be inlined.
#define SIM_CALLED_HERE __attribute__((noinline)) inline
#define SIM_CALLER __builtin_return_address(0)

/// Waits for the lanes of `mask` and returns this lane's result.
std::uint64_t meet(collective what, unsigned mask, std::uint64_t value, int argument, int width, const void* pc);
void block_barrier(const void* pc);
int block_barrier_count(int predicate, const void* pc);  ///< threads of the block with a true predicate
unsigned live_lanes();
std::uint64_t modelled_cycles();
/// Tells the observer about an atomic access from the line that called.
void observe_atomic(const volatile void* address, std::size_t bytes, const void* pc);

template <class T>
T shuffle(collective what, unsigned mask, T value, int argument, int width, const void* pc) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "shuffles move 4 or 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = meet(what, mask, bits, argument, width, pc);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

#define SIM_UNOBSERVED __attribute__((noinline, no_sanitize("thread")))

/// Replaces *address by op(*address) as one step and returns what was there.
template <class T, class Op>
SIM_UNOBSERVED T read_modify_write(T* address, Op op, const void* pc) {
  observe_atomic(address, sizeof(T), pc);
  T old, desired;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  do {
    desired = op(old);
  } while (!__atomic_compare_exchange(address, &old, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}

}  // namespace sim

// ---- barriers, fences, clock
// ------------------------------------------------------------------------------------------

SIM_CALLED_HERE void __syncthreads() { sim::block_barrier(SIM_CALLER); }
SIM_CALLED_HERE int __syncthreads_count(int predicate) { return sim::block_barrier_count(predicate, SIM_CALLER); }
SIM_CALLED_HERE int __syncthreads_or(int predicate) { return sim::block_barrier_count(predicate, SIM_CALLER) > 0; }
SIM_CALLED_HERE int __syncthreads_and(int predicate) {
  return sim::block_barrier_count(predicate, SIM_CALLER) == static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
}
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline long long clock64() { return static_cast<long long>(sim::modelled_cycles()); }

// ---- warp functions
// ---------------------------------------------------------------------------------------------------

SIM_CALLED_HERE void __syncwarp(unsigned mask = 0xffffffffu) {
  sim::meet(sim::collective::sync, mask, 0, 0, 32, SIM_CALLER);
}
inline unsigned __activemask() { return sim::live_lanes(); }
SIM_CALLED_HERE unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(sim::meet(sim::collective::ballot, mask, predicate != 0, 0, 32, SIM_CALLER));
}
SIM_CALLED_HERE int __any_sync(unsigned mask, int predicate) {
  return static_cast<int>(sim::meet(sim::collective::any, mask, predicate != 0, 0, 32, SIM_CALLER));
}
SIM_CALLED_HERE int __all_sync(unsigned mask, int predicate) {
  return static_cast<int>(sim::meet(sim::collective::all, mask, predicate != 0, 0, 32, SIM_CALLER));
}
template <class T>
SIM_CALLED_HERE T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return sim::shuffle(sim::collective::shuffle, mask, value, source, width, SIM_CALLER);
}
template <class T>
SIM_CALLED_HERE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return sim::shuffle(sim::collective::shuffle_up, mask, value, static_cast<int>(delta), width, SIM_CALLER);
}
template <class T>
SIM_CALLED_HERE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return sim::shuffle(sim::collective::shuffle_down, mask, value, static_cast<int>(delta), width, SIM_CALLER);
}
template <class T>
SIM_CALLED_HERE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  return sim::shuffle(sim::collective::shuffle_xor, mask, value, lane_mask, width, SIM_CALLER);
}

// ---- atomics
// ----------------------------------------------------------------------------------------------------------

#define SIM_ATOMIC(name, expression)                                                                       \
  template <class T>                                                                                       \
  SIM_CALLED_HERE T name(T* address, std::type_identity_t<T> value) {                                      \
    return sim::read_modify_write(                                                                         \
        address, [=](T old) __attribute__((no_sanitize("thread"))) { return static_cast<T>(expression); }, \
        SIM_CALLER);                                                                                       \
  }
SIM_ATOMIC(atomicAdd, old + value)
SIM_ATOMIC(atomicSub, old - value)
SIM_ATOMIC(atomicExch, (static_cast<void>(old), value))
SIM_ATOMIC(atomicMin, old < value ? old : value)
SIM_ATOMIC(atomicMax, old > value ? old : value)
SIM_ATOMIC(atomicAnd, old& value)
SIM_ATOMIC(atomicOr, old | value)
SIM_ATOMIC(atomicXor, old ^ value)
SIM_ATOMIC(atomicInc, old >= value ? T{0} : old + 1)
SIM_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef SIM_ATOMIC

template <class T>
__attribute__((noinline)) T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  return sim::read_modify_write(
      address, [=](T old) __attribute__((no_sanitize("thread"))) { return old == compare ? value : old; },
      __builtin_return_address(0));
}

// ---- loads and stores with a cache hint: the same traffic, from the line that has them
// -----------------------------------

#define __ldg(address) (*(address))
#define __ldca(address) (*(address))
#define __ldcg(address) (*(address))
#define __ldcs(address) (*(address))
#define __ldlu(address) (*(address))
#define __ldcv(address) (*(address))
#define __stwb(address, value) (*(address) = (value))
#define __stcg(address, value) (*(address) = (value))
#define __stcs(address, value) (*(address) = (value))
#define __stwt(address, value) (*(address) = (value))

// ---- arithmetic
// -------------------------------------------------------------------------------------------------------

using std::max;
using std::min;
inline unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
inline unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
inline unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
inline unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }

inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float __saturatef(float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline int __float2int_rn(float x) { return static_cast<int>(nearbyintf(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
