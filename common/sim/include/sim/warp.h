// Functions over the lanes of a warp. Each lane brings an argument; the last one to come does the work for all.
#pragma once

#include <cstring>
#include <type_traits>

#include "sim/device.h"

namespace sim {

template <class T>
struct shuffle_argument {
  T value, result;
  int argument, width;
};

/// Source: the lane that `lane` reads from, by shuffle_argument and lane.
template <class T, class Source>
SIM_UNOBSERVED void combine_shuffle(const warp_call& call) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!call.has(lane)) continue;
    auto& mine = call.at<shuffle_argument<T>>(lane);
    const unsigned source = Source::of(static_cast<int>(lane), mine.argument, mine.width);
    if (call.has(source)) {
      mine.result = call.at<shuffle_argument<T>>(source).value;
    } else {
      mine.result = mine.value;
      report_missing_lane(call, lane, source);
    }
  }
}

struct from_index {
  static unsigned of(int lane, int index, int width) {
    return static_cast<unsigned>(lane / width * width + (index & (width - 1)));
  }
};
struct from_below {
  static unsigned of(int lane, int delta, int width) {
    return static_cast<unsigned>(lane % width >= delta ? lane - delta : lane);
  }
};
struct from_above {
  static unsigned of(int lane, int delta, int width) {
    return static_cast<unsigned>(lane % width + delta < width ? lane + delta : lane);
  }
};
struct from_xor {
  static unsigned of(int lane, int lane_mask, int width) {
    return static_cast<unsigned>((lane ^ lane_mask) < lane / width * width + width ? lane ^ lane_mask : lane);
  }
};

template <class Source, class T>
T shuffle(unsigned mask, T value, int argument, int width, const void* pc) {
  static_assert(std::is_trivially_copyable_v<T>, "a shuffle copies bits");
  shuffle_argument<T> mine{value, value, argument, width};
  meet(mask, &mine, &combine_shuffle<T, Source>, pc);
  return mine.result;
}

struct vote {
  int predicate;
  unsigned result;
};
SIM_UNOBSERVED inline void combine_votes(const warp_call& call) {
  unsigned ballot = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (call.has(lane)) ballot |= static_cast<unsigned>(call.at<vote>(lane).predicate != 0) << lane;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (call.has(lane)) call.at<vote>(lane).result = ballot;
}
SIM_UNOBSERVED inline void combine_participants(const warp_call& call) {
  for (unsigned lane = 0; lane < 32; ++lane)
    if (call.has(lane)) call.at<unsigned>(lane) = call.participants;
}
inline unsigned ballot(unsigned mask, int predicate, const void* pc) {
  vote mine{predicate, 0};
  meet(mask, &mine, &combine_votes, pc);
  return mine.result;
}
/// The lanes that are here together.
inline unsigned active_mask(const void* pc) {
  unsigned mask = 0;
  meet(whoever_comes, &mask, &combine_participants, pc);
  return mask;
}

}  // namespace sim

SIM_CALLED_HERE void __syncwarp(unsigned mask = sim::full_mask) { sim::meet(mask, nullptr, nullptr, SIM_CALLER); }
SIM_CALLED_HERE unsigned __activemask() { return sim::active_mask(SIM_CALLER); }
SIM_CALLED_HERE unsigned __ballot_sync(unsigned mask, int predicate) {
  return sim::ballot(mask, predicate, SIM_CALLER);
}
SIM_CALLED_HERE int __any_sync(unsigned mask, int predicate) { return sim::ballot(mask, predicate, SIM_CALLER) != 0; }
SIM_CALLED_HERE int __all_sync(unsigned mask, int predicate) {
  return sim::ballot(mask, predicate == 0, SIM_CALLER) == 0;
}
template <class T>
SIM_CALLED_HERE T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return sim::shuffle<sim::from_index>(mask, value, source, width, SIM_CALLER);
}
template <class T>
SIM_CALLED_HERE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return sim::shuffle<sim::from_below>(mask, value, static_cast<int>(delta), width, SIM_CALLER);
}
template <class T>
SIM_CALLED_HERE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return sim::shuffle<sim::from_above>(mask, value, static_cast<int>(delta), width, SIM_CALLER);
}
template <class T>
SIM_CALLED_HERE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  return sim::shuffle<sim::from_xor>(mask, value, lane_mask, width, SIM_CALLER);
}
