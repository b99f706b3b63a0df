// Cooperative groups: a block, a grid, and the groups of lanes within a warp. Here a tile and a coalesced group are
// both a mask of lanes; a lane's rank is its place among the set bits.
#pragma once
#define _COOPERATIVE_GROUPS_H_  // programs test for it

#include <type_traits>
#include <utility>

#include "sim/bulk.h"
#include "sim/warp.h"

namespace cooperative_groups {

namespace detail {

struct from_lane {
  static unsigned of(int, int source, int) { return static_cast<unsigned>(source); }
};

template <class T>
struct match {
  T value;
  unsigned same;
};
template <class T>
SIM_UNOBSERVED void combine_matches(const sim::warp_call& call) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!call.has(lane)) continue;
    auto& mine = call.at<match<T>>(lane);
    mine.same = 0;
    for (unsigned other = 0; other < 32; ++other)
      if (call.has(other)) mine.same |= static_cast<unsigned>(call.at<match<T>>(other).value == mine.value) << other;
  }
}
/// The lanes of `mask` whose value equals the calling lane's.
template <class T>
unsigned match_any(unsigned mask, T value, const void* pc) {
  match<T> mine{value, 0};
  sim::meet(mask, &mine, &combine_matches<T>, pc);
  return mine.same;
}

inline unsigned thread_in_block() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
inline unsigned threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }
constexpr unsigned lanes(unsigned count) { return count >= 32 ? sim::full_mask : (1u << count) - 1; }
/// The lanes of the calling lane's tile of `size` lanes.
inline unsigned tile_mask(unsigned size) { return lanes(size) << (sim::lane_number() / size * size); }

}  // namespace detail

enum class thread_scope { thread_scope_thread, thread_scope_block, thread_scope_device, thread_scope_system };

/// Any group within a block.
class thread_group {
 public:
  SIM_CALLED_HERE void sync() const { synchronise(SIM_CALLER); }
  unsigned long long num_threads() const { return block_ ? detail::threads_of_block() : __builtin_popcount(mask_); }
  unsigned long long size() const { return num_threads(); }
  unsigned long long thread_rank() const { return block_ ? detail::thread_in_block() : rank_in_warp(); }
  bool is_valid() const { return true; }

 protected:
  thread_group() = default;
  explicit thread_group(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1)
      : block_(false), mask_(mask), meta_rank_(meta_rank), meta_size_(meta_size) {}
  void synchronise(const void* pc) const { block_ ? sim::block_barrier(pc) : sim::meet(mask_, nullptr, nullptr, pc); }
  unsigned rank_in_warp() const {
    return static_cast<unsigned>(__builtin_popcount(mask_ & detail::lanes(sim::lane_number())));
  }

  bool block_ = true;
  unsigned mask_ = 0;
  unsigned meta_rank_ = 0, meta_size_ = 1;

  friend thread_group tiled_partition(const thread_group& parent, unsigned size);
};

class thread_block : public thread_group {
 public:
  thread_block() = default;
  SIM_CALLED_HERE static void sync() { sim::block_barrier(SIM_CALLER); }
  struct arrival_token {};
  static arrival_token barrier_arrive() { return {}; }
  SIM_CALLED_HERE static void barrier_wait(arrival_token&&) { sim::block_barrier(SIM_CALLER); }
  static unsigned thread_rank() { return detail::thread_in_block(); }
  static unsigned num_threads() { return detail::threads_of_block(); }
  static unsigned size() { return num_threads(); }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_index() { return blockIdx; }
  static dim3 dim_threads() { return blockDim; }
  static dim3 group_dim() { return blockDim; }
};
inline thread_block this_thread_block() { return thread_block(); }

/// All threads of a cooperative launch.
class grid_group {
 public:
  SIM_CALLED_HERE static void sync() { sim::grid_barrier(SIM_CALLER); }
  static unsigned long long num_blocks() { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
  static unsigned long long block_rank() {
    return blockIdx.x + 1ull * gridDim.x * (blockIdx.y + 1ull * gridDim.y * blockIdx.z);
  }
  static unsigned long long num_threads() { return num_blocks() * detail::threads_of_block(); }
  static unsigned long long size() { return num_threads(); }
  static unsigned long long thread_rank() {
    return block_rank() * detail::threads_of_block() + detail::thread_in_block();
  }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 group_dim() { return gridDim; }
  static dim3 block_index() { return blockIdx; }
  static bool is_valid() { return true; }
};
inline grid_group this_grid() { return {}; }

/// The blocks of a cluster, which can access each other's shared memory.
class cluster_group {
 public:
  struct arrival_token {};
  SIM_CALLED_HERE static void sync() {
    sim::arrive_at_cluster(SIM_CALLER);
    sim::wait_for_cluster(SIM_CALLER);
  }
  SIM_CALLED_HERE static arrival_token barrier_arrive() {
    sim::arrive_at_cluster(SIM_CALLER);
    return {};
  }
  SIM_CALLED_HERE static void barrier_wait(arrival_token) { sim::wait_for_cluster(SIM_CALLER); }
  SIM_CALLED_HERE static void barrier_wait() { sim::wait_for_cluster(SIM_CALLER); }
  static dim3 block_index() { return sim::rank_in_cluster(); }
  static unsigned block_rank() { return sim::cluster_rank(); }
  static dim3 dim_blocks() { return sim::cluster_shape(); }
  static unsigned num_blocks() { return sim::cluster_blocks(); }
  static dim3 dim_threads() {
    const dim3 blocks = dim_blocks();
    return {blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z};
  }
  static dim3 thread_index() {
    const dim3 block = block_index();
    return {block.x * blockDim.x + threadIdx.x, block.y * blockDim.y + threadIdx.y, block.z * blockDim.z + threadIdx.z};
  }
  static unsigned thread_rank() { return block_rank() * detail::threads_of_block() + detail::thread_in_block(); }
  static unsigned num_threads() { return num_blocks() * detail::threads_of_block(); }
  static unsigned size() { return num_threads(); }
  static bool is_valid() { return true; }
  template <class T>
  SIM_CALLED_HERE static T* map_shared_rank(T* shared, int rank) {
    return static_cast<T*>(sim::in_block(const_cast<const void*>(static_cast<const volatile void*>(shared)),
                                         static_cast<unsigned>(rank), SIM_CALLER));
  }
  static unsigned query_shared_rank(const void* shared) { return sim::rank_of(shared); }
};
inline cluster_group this_cluster() { return {}; }

/// Shared by tiles and coalesced groups.
class warp_group : public thread_group {
 public:
  SIM_CALLED_HERE void sync() const { sim::meet(mask_, nullptr, nullptr, SIM_CALLER); }
  unsigned thread_rank() const { return rank_in_warp(); }
  unsigned num_threads() const { return static_cast<unsigned>(__builtin_popcount(mask_)); }
  unsigned size() const { return num_threads(); }
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }

  template <class T>
  SIM_CALLED_HERE T shfl(T value, int rank) const {
    return shuffle(value, static_cast<unsigned>(rank) % size(), SIM_CALLER);
  }
  template <class T>
  SIM_CALLED_HERE T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return shuffle(value, rank >= delta ? rank - delta : rank, SIM_CALLER);
  }
  template <class T>
  SIM_CALLED_HERE T shfl_down(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return shuffle(value, rank + delta < size() ? rank + delta : rank, SIM_CALLER);
  }
  template <class T>
  SIM_CALLED_HERE T shfl_xor(T value, unsigned rank_mask) const {
    const unsigned rank = thread_rank();
    return shuffle(value, (rank ^ rank_mask) < size() ? rank ^ rank_mask : rank, SIM_CALLER);
  }
  SIM_CALLED_HERE int any(int predicate) const { return sim::ballot(mask_, predicate, SIM_CALLER) != 0; }
  SIM_CALLED_HERE int all(int predicate) const { return sim::ballot(mask_, predicate == 0, SIM_CALLER) == 0; }
  SIM_CALLED_HERE unsigned ballot(int predicate) const { return to_ranks(sim::ballot(mask_, predicate, SIM_CALLER)); }
  template <class T>
  SIM_CALLED_HERE unsigned match_any(T value) const {
    return to_ranks(detail::match_any(mask_, value, SIM_CALLER));
  }
  template <class T>
  SIM_CALLED_HERE unsigned match_all(T value, int& all_equal) const {
    all_equal = detail::match_any(mask_, value, SIM_CALLER) == present();
    return all_equal ? detail::lanes(size()) : 0;
  }

  unsigned lane_mask() const { return mask_; }  ///< ours, not CUDA's

 protected:
  using thread_group::thread_group;
  template <class T>
  T shuffle(T value, unsigned rank, const void* pc) const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 32, "a group shuffles plain types of up to 32 bytes");
    return sim::shuffle_whole<detail::from_lane>(mask_, value, static_cast<int>(lane_of(rank)), 32, pc);
  }
  unsigned lane_of(unsigned rank) const {
    unsigned rest = mask_;
    for (; rank > 0; --rank) rest &= rest - 1;
    return static_cast<unsigned>(__builtin_ctz(rest));
  }
  /// Converts one bit per lane to one bit per rank.
  unsigned to_ranks(unsigned lanes) const {
    unsigned ranks = 0, bit = 0;
    for (unsigned rest = mask_; rest != 0; rest &= rest - 1, ++bit)
      ranks |= ((lanes >> __builtin_ctz(rest)) & 1) << bit;
    return ranks;
  }
  /// The mask without the lanes that a partial last warp lacks.
  unsigned present() const {
    const unsigned first = detail::thread_in_block() - sim::lane_number();
    return mask_ & detail::lanes(detail::threads_of_block() - first);
  }
};

class coalesced_group : public warp_group {
 public:
  explicit coalesced_group(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1)
      : warp_group(mask, meta_rank, meta_size) {}
};
SIM_CALLED_HERE coalesced_group coalesced_threads() { return coalesced_group(sim::active_mask(SIM_CALLER)); }

namespace detail {
template <unsigned Size>
class static_tile : public warp_group {
 public:
  static_assert(Size > 0 && (Size & (Size - 1)) == 0, "a tile's size must be a power of two");
  static_assert(Size <= 32, "tiles larger than a warp are not simulated");
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  static unsigned thread_rank() { return sim::lane_number() % Size; }

 protected:
  static_tile(unsigned meta_rank, unsigned meta_size) : warp_group(tile_mask(Size), meta_rank, meta_size) {}
};
}  // namespace detail

template <unsigned Size, class Parent = void>
class thread_block_tile : public detail::static_tile<Size> {
 public:
  thread_block_tile(unsigned meta_rank, unsigned meta_size) : detail::static_tile<Size>(meta_rank, meta_size) {}
  /// The parent may be omitted from the type.
  template <class Other>
  thread_block_tile(const thread_block_tile<Size, Other>& other)
      : detail::static_tile<Size>(other.meta_group_rank(), other.meta_group_size()) {}
};

template <unsigned Size>
thread_block_tile<Size, thread_block> tiled_partition(const thread_block&) {
  return {detail::thread_in_block() / Size, (detail::threads_of_block() + Size - 1) / Size};
}
template <unsigned Size, unsigned From, class Parent>
thread_block_tile<Size, thread_block_tile<From, Parent>> tiled_partition(const thread_block_tile<From, Parent>&) {
  static_assert(Size <= From, "a tile cannot be larger than the tile that it divides");
  return {sim::lane_number() % From / Size, From / Size};
}
inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
  const unsigned whole = static_cast<unsigned>(parent.num_threads()),
                 rank = static_cast<unsigned>(parent.thread_rank());
  if (parent.block_) return thread_group(detail::tile_mask(size), rank / size, (whole + size - 1) / size);
  unsigned mask = 0, at = 0;
  for (unsigned rest = parent.mask_; rest != 0; rest &= rest - 1, ++at)
    if (at / size == rank / size) mask |= rest & -rest;
  return thread_group(mask, rank / size, (whole + size - 1) / size);
}
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
  const unsigned rank = parent.thread_rank();
  unsigned mask = 0, at = 0;
  for (unsigned rest = parent.lane_mask(); rest != 0; rest &= rest - 1, ++at)
    if (at / size == rank / size) mask |= rest & -rest;
  return coalesced_group(mask, rank / size, (parent.size() + size - 1) / size);
}

/// The lanes of a group that have the same label.
template <class Group, class Label>
SIM_CALLED_HERE coalesced_group labeled_partition(const Group& group, Label label) {
  return coalesced_group(detail::match_any(group.lane_mask(), label, SIM_CALLER));
}
template <class Group>
SIM_CALLED_HERE coalesced_group binary_partition(const Group& group, bool predicate) {
  return coalesced_group(detail::match_any(group.lane_mask(), predicate, SIM_CALLER), predicate ? 1 : 0, 2);
}

template <class Group>
__attribute__((always_inline)) inline void sync(const Group& group) {
  group.sync();
}
template <class Group>
auto thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
auto group_size(const Group& group) {
  return group.size();
}
inline dim3 this_block_index() { return blockIdx; }

/// Runs in one thread of the group.
template <class Group, class Function, class... Arguments>
void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
  if (group.thread_rank() == 0) std::forward<Function>(function)(std::forward<Arguments>(arguments)...);
}

}  // namespace cooperative_groups
