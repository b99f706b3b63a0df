// CUDA's atomic functions. A warp's atomic is one instruction, at the line that calls it.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sim/device.h"
#include "sim/machine.h"

namespace sim {

/// Replaces *address with op(*address) atomically and returns the old value. Not observed. Does not copy `op`: a
/// lambda's copy constructor has hooks, which could interrupt the thread after its access was recorded.
template <class T, class Operation>
SIM_UNOBSERVED T exchange_by(T* address, const Operation& op) {
  T old, desired;
  __atomic_load(address, &old, __ATOMIC_SEQ_CST);
  do {
    desired = op(old);
  } while (!__atomic_compare_exchange(address, &old, &desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return old;
}
template <class T, class Operation>
SIM_UNOBSERVED T read_modify_write(T* address, const Operation& op, const void* pc, bool in_warp = false,
                                   scope within = scope::device) {
  observe_atomic(address, sizeof(T), pc, in_warp, within);
  return exchange_by(address, op);
}

template <class T, class... Types>
inline constexpr bool one_of = (std::is_same_v<T, Types> || ...);
/// The operand type of CUDA's 128-bit atomics.
template <class T>
inline constexpr bool sixteen_bytes = sizeof(T) == 16 && alignof(T) >= 16 && std::is_trivially_copyable_v<T>;

/// Atomically sets *address to `value` if `compare` is null or equal to it; returns the old value.
template <class T>
SIM_UNOBSERVED SIM_WIDE_ATOMIC T exchange_16(T* address, const T* compare, T value, const void* pc, scope within) {
  observe_atomic(address, 16, pc, false, within);
  unsigned __int128 wanted, desired, seen = 0;
  std::memcpy(&desired, &value, 16);
  if (compare) std::memcpy(&wanted, compare, 16);
  auto* bits = reinterpret_cast<unsigned __int128*>(address);
  for (;;) {
    const unsigned __int128 expected = compare ? wanted : seen;
    seen = __sync_val_compare_and_swap(bits, expected, desired);
    if (compare || seen == expected) break;
  }
  T old;
  std::memcpy(&old, &seen, 16);
  return old;
}

/// One instruction for a vector of floats; each element's update is atomic on its own.
template <class Vector>
SIM_UNOBSERVED Vector add_elements(Vector* address, Vector value, const void* pc, scope within) {
  observe_atomic(address, sizeof(Vector), pc, false, within);
  Vector old;
  for (unsigned i = 0; i < sizeof(Vector) / sizeof(float); ++i) {
    const float more = (&value.x)[i];
    (&old.x)[i] = exchange_by(&address->x + i, [=](float x) SIM_QUIET { return x + more; });
  }
  return old;
}

// With a memory order: `how` is one of the compiler's orders, which have std::memory_order's values.
constexpr bool releases(int how) {
  return how == __ATOMIC_RELEASE || how == __ATOMIC_ACQ_REL || how == __ATOMIC_SEQ_CST;
}
constexpr bool acquires(int how) { return how != __ATOMIC_RELAXED && how != __ATOMIC_RELEASE; }

template <class T>
SIM_UNOBSERVED T ordered_load(const T* address, int how, const void* pc, scope within) {
  observe_atomic_load(address, sizeof(T), pc, within);
  T value;
  __atomic_load(const_cast<T*>(address), &value, __ATOMIC_SEQ_CST);
  if (acquires(how)) acquire(address, within);
  return value;
}
template <class T>
SIM_UNOBSERVED void ordered_store(T* address, T value, int how, const void* pc, scope within) {
  observe_atomic_store(address, sizeof(T), pc, within);
  if (releases(how)) release(address, within);
  __atomic_store(address, &value, __ATOMIC_SEQ_CST);
}
template <class T, class Operation>
SIM_UNOBSERVED T ordered_modify(T* address, const Operation& op, int how, const void* pc, scope within) {
  observe_atomic(address, sizeof(T), pc, false, within);
  if (releases(how)) release(address, within);
  const T old = exchange_by(address, op);
  if (acquires(how)) acquire(address, within);
  return old;
}
template <class T>
SIM_UNOBSERVED bool ordered_exchange_if(T* address, T& expected, T desired, int how, const void* pc, scope within) {
  observe_atomic(address, sizeof(T), pc, false, within);
  if (releases(how)) release(address, within);
  const bool same = __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  if (acquires(how)) acquire(address, within);
  return same;
}

}  // namespace sim

// Defines each function for CUDA's scopes: device, block and system.
#define SIM_SCOPES(define, name, ...) \
  define(name, device, __VA_ARGS__) define(name##_block, block, __VA_ARGS__) define(name##_system, device, __VA_ARGS__)
#define SIM_LIST(...) __VA_ARGS__
#define SIM_ATOMIC(name, within, types, in_warp, expression)                               \
  template <class T>                                                                       \
  SIM_CALLED_HERE T name(T* address, sim::same_t<T> value) {                               \
    static_assert(sim::one_of<T, SIM_LIST types>, #name " works on these types: " #types); \
    return sim::read_modify_write(                                                         \
        address, [=](T old) SIM_QUIET { return static_cast<T>(expression); }, SIM_CALLER,  \
        (in_warp) && std::is_integral_v<T> && sizeof(T) == 4, sim::scope::within);         \
  }
SIM_SCOPES(SIM_ATOMIC, atomicAdd, (int, unsigned, unsigned long long, float, double), true, old + value)
SIM_SCOPES(SIM_ATOMIC, atomicSub, (int, unsigned), true, old - value)
SIM_SCOPES(SIM_ATOMIC, atomicMin, (int, unsigned, long long, unsigned long long), true, old < value ? old : value)
SIM_SCOPES(SIM_ATOMIC, atomicMax, (int, unsigned, long long, unsigned long long), true, old > value ? old : value)
SIM_SCOPES(SIM_ATOMIC, atomicAnd, (int, unsigned, unsigned long long), true, old& value)
SIM_SCOPES(SIM_ATOMIC, atomicOr, (int, unsigned, unsigned long long), true, old | value)
SIM_SCOPES(SIM_ATOMIC, atomicXor, (int, unsigned, unsigned long long), true, old ^ value)
SIM_SCOPES(SIM_ATOMIC, atomicInc, (unsigned), false, old >= value ? 0 : old + 1)
SIM_SCOPES(SIM_ATOMIC, atomicDec, (unsigned), false, old == 0 || old > value ? value : old - 1)
#undef SIM_ATOMIC

#define SIM_ATOMIC_EXCHANGE(exchange, cas, within)                                                                     \
  template <class T>                                                                                                   \
  SIM_CALLED_HERE T exchange(T* address, sim::same_t<T> value) {                                                       \
    static_assert(sim::one_of<T, int, unsigned, unsigned long long, float> || sim::sixteen_bytes<T>,                   \
                  #exchange " works on int, unsigned, unsigned long long, float and types of 16 bytes aligned to 16"); \
    sim::note_overwrite(address, sizeof(T));                                                                           \
    if constexpr (sizeof(T) == 16)                                                                                     \
      return sim::exchange_16<T>(address, nullptr, value, SIM_CALLER, sim::scope::within);                             \
    else                                                                                                               \
      return sim::read_modify_write(                                                                                   \
          address, [=](T) SIM_QUIET { return value; }, SIM_CALLER, false, sim::scope::within);                         \
  }                                                                                                                    \
  template <class T>                                                                                                   \
  SIM_CALLED_HERE T cas(T* address, sim::same_t<T> compare, sim::same_t<T> value) {                                    \
    static_assert(sim::one_of<T, int, unsigned, unsigned short, unsigned long long> || sim::sixteen_bytes<T>, #cas     \
                  " works on int, unsigned, unsigned short, unsigned long long and types of 16 bytes aligned to 16");  \
    sim::note_compare(address);                                                                                        \
    if constexpr (sizeof(T) == 16)                                                                                     \
      return sim::exchange_16<T>(address, &compare, value, SIM_CALLER, sim::scope::within);                            \
    else                                                                                                               \
      return sim::read_modify_write(                                                                                   \
          address, [=](T old) SIM_QUIET { return old == compare ? value : old; }, SIM_CALLER, false,                   \
          sim::scope::within);                                                                                         \
  }
SIM_ATOMIC_EXCHANGE(atomicExch, atomicCAS, device)
SIM_ATOMIC_EXCHANGE(atomicExch_block, atomicCAS_block, block)
SIM_ATOMIC_EXCHANGE(atomicExch_system, atomicCAS_system, device)
#undef SIM_ATOMIC_EXCHANGE

#define SIM_ATOMIC_VECTOR(name, within, type)                                 \
  SIM_CALLED_HERE type name(type* address, type value) {                      \
    return sim::add_elements(address, value, SIM_CALLER, sim::scope::within); \
  }
SIM_SCOPES(SIM_ATOMIC_VECTOR, atomicAdd, float2)
SIM_SCOPES(SIM_ATOMIC_VECTOR, atomicAdd, float4)
#undef SIM_ATOMIC_VECTOR
#undef SIM_LIST

// nvcc's own atomics, with the constants that it predefines.
#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
#define __NV_ATOMIC_CONSUME __ATOMIC_CONSUME
#define __NV_ATOMIC_ACQUIRE __ATOMIC_ACQUIRE
#define __NV_ATOMIC_RELEASE __ATOMIC_RELEASE
#define __NV_ATOMIC_ACQ_REL __ATOMIC_ACQ_REL
#define __NV_ATOMIC_SEQ_CST __ATOMIC_SEQ_CST
enum : int {
  __NV_THREAD_SCOPE_THREAD,
  __NV_THREAD_SCOPE_BLOCK,
  __NV_THREAD_SCOPE_CLUSTER,
  __NV_THREAD_SCOPE_DEVICE,
  __NV_THREAD_SCOPE_SYSTEM
};

namespace sim {
constexpr scope nv_scope(int within) { return within <= __NV_THREAD_SCOPE_BLOCK ? scope::block : scope::device; }
}  // namespace sim

#define SIM_INTEGRAL(name) static_assert(std::is_integral_v<T>, #name " works on integers; without _n, on other types")
template <class T>
SIM_CALLED_HERE T __nv_atomic_load_n(T* address, int how, int within = __NV_THREAD_SCOPE_SYSTEM) {
  SIM_INTEGRAL(__nv_atomic_load_n);
  return sim::ordered_load(address, how, SIM_CALLER, sim::nv_scope(within));
}
template <class T>
SIM_CALLED_HERE void __nv_atomic_load(T* address, T* value, int how, int within = __NV_THREAD_SCOPE_SYSTEM) {
  *value = sim::ordered_load(address, how, SIM_CALLER, sim::nv_scope(within));
}
template <class T>
SIM_CALLED_HERE void __nv_atomic_store_n(T* address, sim::same_t<T> value, int how,
                                         int within = __NV_THREAD_SCOPE_SYSTEM) {
  SIM_INTEGRAL(__nv_atomic_store_n);
  sim::ordered_store(address, value, how, SIM_CALLER, sim::nv_scope(within));
}
template <class T>
SIM_CALLED_HERE void __nv_atomic_store(T* address, T* value, int how, int within = __NV_THREAD_SCOPE_SYSTEM) {
  sim::ordered_store(address, *value, how, SIM_CALLER, sim::nv_scope(within));
}
template <class T>
SIM_CALLED_HERE bool __nv_atomic_compare_exchange_n(T* address, T* expected, sim::same_t<T> desired, bool, int how, int,
                                                    int within = __NV_THREAD_SCOPE_SYSTEM) {
  SIM_INTEGRAL(__nv_atomic_compare_exchange_n);
  return sim::ordered_exchange_if(address, *expected, desired, how, SIM_CALLER, sim::nv_scope(within));
}
template <class T>
SIM_CALLED_HERE bool __nv_atomic_compare_exchange(T* address, T* expected, T* desired, bool, int how, int,
                                                  int within = __NV_THREAD_SCOPE_SYSTEM) {
  return sim::ordered_exchange_if(address, *expected, *desired, how, SIM_CALLER, sim::nv_scope(within));
}
template <class T>
SIM_CALLED_HERE T __nv_atomic_exchange_n(T* address, sim::same_t<T> value, int how,
                                         int within = __NV_THREAD_SCOPE_SYSTEM) {
  SIM_INTEGRAL(__nv_atomic_exchange_n);
  sim::note_overwrite(address, sizeof(T));
  return sim::ordered_modify(
      address, [=](T) SIM_QUIET { return value; }, how, SIM_CALLER, sim::nv_scope(within));
}
template <class T>
SIM_CALLED_HERE void __nv_atomic_exchange(T* address, T* value, T* old, int how,
                                          int within = __NV_THREAD_SCOPE_SYSTEM) {
  sim::note_overwrite(address, sizeof(T));
  *old = sim::ordered_modify(
      address, [value = *value](T) SIM_QUIET { return value; }, how, SIM_CALLER, sim::nv_scope(within));
}
#undef SIM_INTEGRAL
#define SIM_NV_ATOMIC(name, expression)                                                                                \
  template <class T>                                                                                                   \
  SIM_CALLED_HERE T __nv_atomic_fetch_##name(T* address, sim::same_t<T> value, int how,                                \
                                             int within = __NV_THREAD_SCOPE_SYSTEM) {                                  \
    return sim::ordered_modify(                                                                                        \
        address, [=](T old) SIM_QUIET { return static_cast<T>(expression); }, how, SIM_CALLER, sim::nv_scope(within)); \
  }                                                                                                                    \
  template <class T>                                                                                                   \
  SIM_CALLED_HERE void __nv_atomic_##name(T* address, sim::same_t<T> value, int how,                                   \
                                          int within = __NV_THREAD_SCOPE_SYSTEM) {                                     \
    sim::ordered_modify(                                                                                               \
        address, [=](T old) SIM_QUIET { return static_cast<T>(expression); }, how, SIM_CALLER, sim::nv_scope(within)); \
  }
SIM_NV_ATOMIC(add, old + value)
SIM_NV_ATOMIC(sub, old - value)
SIM_NV_ATOMIC(and, old& value)
SIM_NV_ATOMIC(or, old | value)
SIM_NV_ATOMIC(xor, old ^ value)
SIM_NV_ATOMIC(min, value < old ? value : old)
SIM_NV_ATOMIC(max, old < value ? value : old)
#undef SIM_NV_ATOMIC
inline void __nv_atomic_thread_fence(int, int within = __NV_THREAD_SCOPE_SYSTEM) { sim::fence(sim::nv_scope(within)); }
