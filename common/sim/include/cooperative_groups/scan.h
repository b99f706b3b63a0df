// Prefix sums over a tile or a coalesced group, in order of rank.
#pragma once

#include "cooperative_groups/reduce.h"

namespace cooperative_groups {

namespace detail {

/// Combines the values up to the lane's own, or only those before it, in order, into all.at(0); false if none.
template <bool Inclusive, class T, class Op>
SIM_UNOBSERVED bool fold_before(gathered<T>& all, Op& op) {
  for (unsigned i = 1; i < all.rank + Inclusive; ++i) apply(op, all.at(0), all.at(0), all.at(i));
  return Inclusive || all.rank > 0;
}

template <bool Inclusive, class T, class Op>
T scan(unsigned mask, const T& value, Op& op, const void* pc) {
  gathered<T> all;
  gather(mask, &value, all, pc);
  return fold_before<Inclusive>(all, op) ? all.at(0) : T{};
}

}  // namespace detail

template <class Group, class T, class Op = plus<>>
SIM_CALLED_HERE std::decay_t<T> inclusive_scan(const Group& group, T&& value, Op&& op = {}) {
  return detail::scan<true, std::decay_t<T>>(group.lane_mask(), value, op, SIM_CALLER);
}
/// The first thread gets T{}.
template <class Group, class T, class Op = plus<>>
SIM_CALLED_HERE std::decay_t<T> exclusive_scan(const Group& group, T&& value, Op&& op = {}) {
  return detail::scan<false, std::decay_t<T>>(group.lane_mask(), value, op, SIM_CALLER);
}

}  // namespace cooperative_groups
