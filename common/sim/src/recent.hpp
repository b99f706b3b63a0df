// Recent warp instructions on global memory that touched the same lines: the candidates for a race between threads of a
// block.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "access.hpp"
#include "heap.hpp"

namespace sim {

/// A worker's last warp instructions on global memory.
class recent_accesses {
 public:
  struct entry {
    std::uint64_t site = 0;
    std::uintptr_t low = 0, high = 0;  ///< [low, high)
    std::uint32_t number = 0, block = 0, first_thread = 0, lanes = 0, sync = 0;
    std::uint32_t clock = 0;    ///< of the first lane, for block_order
    std::uint32_t details = 0;  ///< 0: the lanes' words are contiguous from `low` on, and block_order was even
  };
  struct detail {
    std::array<std::uintptr_t, lanes_per_warp> address;  ///< by position among the lanes
    std::array<std::uint32_t, lanes_per_warp> clock;
    std::uint32_t number;  ///< of the instruction
  };
  /// Starts over at the first entries, which are in the cache.
  void begin_block() {
    begin_ = next_;
    details_used_ = 0;
  }
  /// Numbers are grouped by warp, so that comparing two tells whether they are from the same warp.
  static constexpr unsigned warp_bits = 5;
  std::uint32_t next() const { return next_; }
  std::uint32_t number(std::uint32_t warp) const { return (next_ << warp_bits) | warp; }
  entry& add(std::uint32_t warp) {
    entry& e = entries_[(next_ - begin_) % capacity];
    e.number = number(warp);
    ++next_;
    return e;
  }
  detail& add_detail(entry& of) {
    of.details = details_used_++ % detail_capacity + 1;
    details_[of.details - 1].number = of.number;
    return details_[of.details - 1];
  }
  const detail* detail_of(const entry& e) const { return e.details ? &details_[e.details - 1] : nullptr; }
  /// Whether the number may belong to instruction `first` or a later one.
  bool since(std::uint32_t first, std::uint32_t number) const {
    const std::uint32_t ago = (next_ - (number >> warp_bits)) & (~std::uint32_t{0} >> warp_bits);
    return ago - 1 < std::min<std::uint32_t>(next_ - first, capacity);
  }
  /// Null if it is too old.
  const entry* find(std::uint32_t number) const {
    const entry& e = entries_[((number >> warp_bits) - begin_) % capacity];
    return e.number == number && (e.details == 0 || detail_of(e)->number == number) ? &e : nullptr;
  }

  /// Records that the instruction with this number touches a line, and which instructions since `first` touched it
  /// before.
  void touch(line_shadow& line, bool stores, std::uint32_t number, std::uint32_t first) {
    meet(line.stored, first);
    if (stores) meet(line.loaded, first);
    line_users& users = stores ? line.stored : line.loaded;
    const std::uint64_t last = users.of_warp.load(std::memory_order_relaxed);
    const bool same_warp = ((last ^ number) & ((1u << warp_bits) - 1)) == 0;
    if (!same_warp) users.of_other.store(last, std::memory_order_relaxed);
    users.of_warp.store((same_warp ? last << 32 : 0) | number, std::memory_order_relaxed);
  }
  /// The numbers of earlier instructions, each once. Starts over.
  std::span<const std::uint32_t> met() { return {met_.data(), std::exchange(met_count_, 0)}; }

 private:
  void meet(const line_users& users, std::uint32_t first) {
    const std::uint64_t a = users.of_warp.load(std::memory_order_relaxed);
    if (a == 0) return;
    const std::uint64_t b = users.of_other.load(std::memory_order_relaxed);
    for (const std::uint64_t both : {a, b})
      for (const auto number : {static_cast<std::uint32_t>(both), static_cast<std::uint32_t>(both >> 32)}) {
        if (!since(first, number) || met_count_ == met_.size()) continue;
        std::size_t i = met_count_;
        while (i > 0 && met_[i - 1] != number) --i;
        if (i == 0) met_[met_count_++] = number;
      }
  }
  static constexpr std::uint32_t capacity = 1 << 16, detail_capacity = 1 << 13;
  std::vector<entry> entries_ = std::vector<entry>(capacity);
  std::vector<detail> details_ = std::vector<detail>(detail_capacity);
  std::uint32_t next_ = 1, begin_ = 1, details_used_ = 0;
  std::array<std::uint32_t, 64> met_{};
  std::size_t met_count_ = 0;
};

}  // namespace sim
