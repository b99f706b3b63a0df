// CUDA's atomic functions. An atomic of a warp is one instruction, at the line that calls it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "sim/device.h"

namespace sim {

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
