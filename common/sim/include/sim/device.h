// The device side of CUDA C++: qualifiers, coordinates, barriers, fences, cache hints.
#pragma once

#include "sim/call.h"
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

// ---- barriers, fences, clock

SIM_CALLED_HERE void __syncthreads() { sim::block_barrier(SIM_CALLER); }
SIM_CALLED_HERE int __syncthreads_count(int predicate) { return sim::block_barrier_count(predicate, SIM_CALLER); }
SIM_CALLED_HERE int __syncthreads_or(int predicate) { return sim::block_barrier_count(predicate, SIM_CALLER) > 0; }
SIM_CALLED_HERE int __syncthreads_and(int predicate) {
  return sim::block_barrier_count(predicate, SIM_CALLER) == static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
}
inline void __threadfence() { sim::fence(); }
inline void __threadfence_block() { sim::fence(); }
inline void __threadfence_system() { sim::fence(); }
inline long long clock64() { return static_cast<long long>(sim::modelled_cycles()); }

// ---- loads and stores with a cache hint: the same traffic, from the line that has them

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
