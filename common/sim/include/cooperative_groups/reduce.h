// reduce over a tile or a coalesced group: all its threads get the result.
#pragma once

#include "cooperative_groups.h"

namespace cooperative_groups {

#define SIM_GROUP_OPERATOR(name, expression)              \
  template <class T = void>                               \
  struct name {                                           \
    T operator()(T a, T b) const { return (expression); } \
  };                                                      \
  template <>                                             \
  struct name<void> {                                     \
    template <class T>                                    \
    T operator()(T a, T b) const {                        \
      return static_cast<T>(expression);                  \
    }                                                     \
  };
SIM_GROUP_OPERATOR(plus, a + b)
SIM_GROUP_OPERATOR(less, b < a ? b : a)  // as in CUDA, less keeps the smaller one
SIM_GROUP_OPERATOR(greater, a < b ? b : a)
SIM_GROUP_OPERATOR(bit_and, a& b)
SIM_GROUP_OPERATOR(bit_or, a | b)
SIM_GROUP_OPERATOR(bit_xor, a ^ b)
#undef SIM_GROUP_OPERATOR

namespace detail {

/// All lanes' values by rank; every lane gets a copy. Copied as bytes, because T's functions belong to the program.
template <class T>
struct gathered {
  static_assert(std::is_trivially_copyable_v<T> || sim::is_shuffled<T>, "lanes exchange the bytes of a value");
  alignas(T) char own[sizeof(T)];
  alignas(T) char all[32][sizeof(T)];
  unsigned count, rank;
  SIM_QUIET T& at(unsigned i) { return *reinterpret_cast<T*>(all[i]); }
};
template <class T>
SIM_UNOBSERVED void combine_gathered(const sim::warp_call& call) {
  unsigned n = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (call.has(lane)) call.at<gathered<T>>(lane).rank = n++;
  for (unsigned to = 0; to < 32; ++to) {
    if (!call.has(to)) continue;
    auto& mine = call.at<gathered<T>>(to);
    mine.count = n;
    for (unsigned from = 0; from < 32; ++from) {
      if (!call.has(from)) continue;
      const auto& other = call.at<gathered<T>>(from);
      __builtin_memcpy(mine.all[other.rank], other.own, sizeof(T));
    }
  }
}
template <class T>
SIM_UNOBSERVED void gather(unsigned mask, const T* value, gathered<T>& all, const void* pc) {
  __builtin_memcpy(all.own, static_cast<const void*>(value), sizeof(T));
  sim::meet(mask, &all, &combine_gathered<T>, pc);
}
/// Runs the program's own code in the lane's own thread: observed, and not inlined into unobserved code.
template <class T, class Op>
__attribute__((noinline)) void apply(Op& op, T& to, const T& a, const T& b) {
  to = op(a, b);
}
/// Combines neighbours first, as a tree of shuffles does, so that floating-point sums round as on a GPU. In place.
template <class T, class Op>
SIM_UNOBSERVED void fold(gathered<T>& all, Op& op) {
  unsigned half = 1;
  while (half < all.count) half *= 2;
  for (half /= 2; half > 0; half /= 2)
    for (unsigned i = 0; i < half && i + half < all.count; ++i) apply(op, all.at(i), all.at(i), all.at(i + half));
}
template <class T, class Op>
T reduce_lanes(unsigned mask, const T& value, Op& op, const void* pc) {
  gathered<T> all;
  gather(mask, &value, all, pc);
  fold(all, op);
  return all.at(0);
}

}  // namespace detail

template <class Group, class T, class Op = plus<>>
SIM_CALLED_HERE std::decay_t<T> reduce(const Group& group, T&& value, Op&& op = {}) {
  return detail::reduce_lanes<std::decay_t<T>>(group.lane_mask(), value, op, SIM_CALLER);
}

}  // namespace cooperative_groups
