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

template <class T, class Op>
struct fold {
  T value;
  Op* op;
};
/// Neighbours first, as in a tree of shuffles: floating-point sums then round as on a GPU.
template <class T, class Op>
SIM_UNOBSERVED void combine_reduction(const sim::warp_call& call) {
  fold<T, Op>* with[32];
  unsigned n = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (call.has(lane)) with[n++] = &call.at<fold<T, Op>>(lane);
  unsigned half = 1;
  while (half < n) half *= 2;
  for (half /= 2; half > 0; half /= 2)
    for (unsigned i = 0; i < half && i + half < n; ++i)
      with[i]->value = (*with[i]->op)(with[i]->value, with[i + half]->value);
  for (unsigned i = 1; i < n; ++i) with[i]->value = with[0]->value;
}

}  // namespace detail

template <class Group, class T, class Op = plus<>>
SIM_CALLED_HERE std::decay_t<T> reduce(const Group& group, T&& value, Op&& op = {}) {
  using value_type = std::decay_t<T>;
  using operation = std::remove_reference_t<Op>;
  detail::fold<value_type, operation> mine{value, &op};
  sim::meet(group.lane_mask(), &mine, &detail::combine_reduction<value_type, operation>, SIM_CALLER);
  return mine.value;
}

}  // namespace cooperative_groups
