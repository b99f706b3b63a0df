// Functions over the lanes of a warp. Each lane passes an argument; the last one to arrive computes for all.
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

/// Source: returns the lane that `lane` reads from, given shuffle_argument and lane.
template <class T, class Source>
SIM_UNOBSERVED void combine_shuffle(const warp_call& call) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!call.has(lane)) continue;
    auto& mine = call.at<shuffle_argument<T>>(lane);
    const unsigned source = Source::of(static_cast<int>(lane), mine.argument, mine.width);
    // For an inactive lane, a GPU returns 0: observed on an H200, though CUDA does not guarantee it.
    if constexpr (std::is_arithmetic_v<T>)  // the usual case, without a checked memcpy
      mine.result = call.has(source) ? call.at<shuffle_argument<T>>(source).value : T{};
    else if (call.has(source))
      std::memcpy(static_cast<void*>(&mine.result), &call.at<shuffle_argument<T>>(source).value, sizeof mine.result);
    else
      std::memset(static_cast<void*>(&mine.result), 0, sizeof mine.result);
  }
}

struct from_index {
  SIM_QUIET static unsigned of(int lane, int index, int width) {
    return static_cast<unsigned>(lane / width * width + (index & (width - 1)));
  }
};
struct from_below {
  SIM_QUIET static unsigned of(int lane, int delta, int width) {
    return static_cast<unsigned>(lane % width >= delta ? lane - delta : lane);
  }
};
struct from_above {
  SIM_QUIET static unsigned of(int lane, int delta, int width) {
    return static_cast<unsigned>(lane % width + delta < width ? lane + delta : lane);
  }
};
struct from_xor {
  SIM_QUIET static unsigned of(int lane, int lane_mask, int width) {
    return static_cast<unsigned>((lane ^ lane_mask) < lane / width * width + width ? lane ^ lane_mask : lane);
  }
};

/// The types that a shuffle can move.
template <class T>
inline constexpr bool is_shuffled = std::is_arithmetic_v<T>;

/// Any type, for groups.
template <class Source, class T>
SIM_QUIET T shuffle_whole(unsigned mask, T value, int argument, int width, const void* pc) {
  static_assert(std::is_trivially_copyable_v<T> || is_shuffled<T>, "lanes exchange the bytes of a value");
  shuffle_argument<T> mine{value, value, argument, width};
  meet(mask, &mine, &combine_shuffle<T, Source>, pc);
  return mine.result;
}
template <class Source, class T>
SIM_QUIET T shuffle(unsigned mask, T value, int argument, int width, const void* pc) {
  static_assert(is_shuffled<T>, "a shuffle moves one number; shuffle a struct or vector member by member");
  return shuffle_whole<Source>(mask, value, argument, width, pc);
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
SIM_QUIET inline unsigned ballot(unsigned mask, int predicate, const void* pc) {
  vote mine{predicate, 0};
  meet(mask, &mine, &combine_votes, pc);
  return mine.result;
}

template <class T>
struct matched {
  T value;
  unsigned result;
};
/// Each lane gets the mask of the lanes with the same value.
template <class T>
SIM_UNOBSERVED void combine_matches(const warp_call& call) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!call.has(lane)) continue;
    auto& mine = call.at<matched<T>>(lane);
    mine.result = 0;
    for (unsigned other = 0; other < 32; ++other)
      if (call.has(other) && std::memcmp(&call.at<matched<T>>(other).value, &mine.value, sizeof(T)) == 0)
        mine.result |= 1u << other;
  }
}
template <class T>
SIM_QUIET unsigned match(unsigned mask, T narrow, const void* pc) {
  const auto value = +narrow;  // a bool, char or enumeration becomes an int, as in overload resolution
  using type = std::remove_const_t<decltype(value)>;
  static_assert(std::is_arithmetic_v<type> && sizeof(type) >= 4,
                "__match_any_sync and __match_all_sync compare numbers of 4 or 8 bytes");
  matched<type> mine{value, 0};
  meet(mask, &mine, &combine_matches<type>, pc);
  return mine.result;
}

/// Each lane gets op over all lanes' values.
template <class T, class Operation>
SIM_UNOBSERVED void combine_values(const warp_call& call) {
  T all{};
  bool first = true;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (call.has(lane)) {
      all = first ? call.at<T>(lane) : Operation::of(all, call.at<T>(lane));
      first = false;
    }
  for (unsigned lane = 0; lane < 32; ++lane)
    if (call.has(lane)) call.at<T>(lane) = all;
}
template <class Operation, class T>
SIM_QUIET T reduce(unsigned mask, T value, const void* pc) {
  meet(mask, &value, &combine_values<T, Operation>, pc);
  return value;
}
#define SIM_REDUCTION(name, expression)                    \
  struct name {                                            \
    template <class T>                                     \
    __attribute__((always_inline)) static T of(T a, T b) { \
      return static_cast<T>(expression);                   \
    }                                                      \
  };
SIM_REDUCTION(sum_of, static_cast<unsigned>(a) + static_cast<unsigned>(b))
SIM_REDUCTION(least_of, a < b ? a : b)
SIM_REDUCTION(largest_of, a > b ? a : b)
SIM_REDUCTION(and_of, a& b)
SIM_REDUCTION(or_of, a | b)
SIM_REDUCTION(xor_of, a ^ b)
#undef SIM_REDUCTION

/// The lanes that arrive here together.
SIM_QUIET inline unsigned active_mask(const void* pc) {
  unsigned mask = 0;
  meet_any(&mask, &combine_participants, pc);
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
template <class T>
SIM_CALLED_HERE unsigned __match_any_sync(unsigned mask, T value) {
  return sim::match(mask, value, SIM_CALLER);
}
/// The mask if all its lanes have the same value, else zero.
template <class T>
SIM_CALLED_HERE unsigned __match_all_sync(unsigned mask, T value, int* all_same) {
  const unsigned same = sim::match(mask, value, SIM_CALLER);
  *all_same = same == mask;
  return *all_same ? mask : 0;
}
#define SIM_REDUCE(name, op, type) \
  SIM_CALLED_HERE type name(unsigned mask, type value) { return sim::reduce<sim::op>(mask, value, SIM_CALLER); }
SIM_REDUCE(__reduce_add_sync, sum_of, unsigned)
SIM_REDUCE(__reduce_add_sync, sum_of, int)
SIM_REDUCE(__reduce_min_sync, least_of, unsigned)
SIM_REDUCE(__reduce_min_sync, least_of, int)
SIM_REDUCE(__reduce_max_sync, largest_of, unsigned)
SIM_REDUCE(__reduce_max_sync, largest_of, int)
SIM_REDUCE(__reduce_and_sync, and_of, unsigned)
SIM_REDUCE(__reduce_or_sync, or_of, unsigned)
SIM_REDUCE(__reduce_xor_sync, xor_of, unsigned)
#undef SIM_REDUCE
