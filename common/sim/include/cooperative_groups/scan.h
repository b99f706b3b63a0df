// Prefix sums over a tile or a coalesced group, in order of rank.
#pragma once

#include "cooperative_groups/reduce.h"

namespace cooperative_groups {

namespace detail {

template <bool Inclusive, class T, class Op>
SIM_UNOBSERVED void combine_scan(const sim::warp_call& call) {
  T before{};
  bool first = true;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!call.has(lane)) continue;
    auto& mine = call.at<fold<T, Op>>(lane);
    const T until = first ? mine.value : (*mine.op)(before, mine.value);
    mine.value = Inclusive ? until : before;
    before = until;
    first = false;
  }
}

template <bool Inclusive, class T, class Op>
T scan(unsigned mask, T value, Op& op, const void* pc) {
  fold<T, Op> mine{value, &op};
  sim::meet(mask, &mine, &combine_scan<Inclusive, T, Op>, pc);
  return mine.value;
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
