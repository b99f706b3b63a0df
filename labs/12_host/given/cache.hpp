// Models of a core's cache, which counts misses, and of cores that share lines. Deterministic: the same accesses cause
// the same misses on every machine. Caches are small, so that small cases behave as large ones do on a real processor.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace lab12 {

constexpr std::uint64_t line_bytes = 64, page_bytes = 4096, huge_page_bytes = 2 << 20;

/// Set-associative; evicts the least recently used line. A line's set is its number, modulo the number of sets.
class cache_level {
 public:
  cache_level(std::size_t bytes, std::size_t ways)
      : ways_(ways), sets_(bytes / line_bytes / ways), lines_(sets_ * ways, none) {}

  /// Returns whether the line was there, and makes it the most recently used.
  bool access(std::uint64_t line) {
    std::uint64_t* const set = &lines_[line % sets_ * ways_];
    std::uint64_t* const found = std::find(set, set + ways_, line);
    const bool hit = found != set + ways_;
    std::rotate(set, hit ? found : set + ways_ - 1, hit ? found + 1 : set + ways_);
    set[0] = line;
    return hit;
  }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::size_t ways_, sets_;
  std::vector<std::uint64_t> lines_;
};

/// One core's cache: a first level of 8 KiB with 8 ways, a last level of 64 KiB with 16 ways, lines of 64 bytes. An
/// access that misses the first level goes to the last. Loads and stores count alike. Pages get physical addresses in
/// the order in which they are first touched, so it does not matter where a program's arrays are. The TLB holds the
/// addresses of the 64 most recently used pages; on a miss, a page is looked up in the page table.
class cache {
 public:
  std::uint64_t accesses = 0, first_misses = 0, last_misses = 0, tlb_misses = 0;

  explicit cache(std::uint64_t bytes_of_a_page = page_bytes) : page_lines_(bytes_of_a_page / line_bytes) {}

  void access(std::uint64_t address, std::size_t bytes) {
    ++accesses;
    for (std::uint64_t line = address / line_bytes; line <= (address + bytes - 1) / line_bytes; ++line) {
      const std::uint64_t page = line / page_lines_;
      if (page != last_page_) {
        last_place_ = places_.try_emplace(last_page_ = page, places_.size()).first->second;
        tlb_misses += !tlb_.access(page);
      }
      const std::uint64_t at = last_place_ * page_lines_ + line % page_lines_;
      if (first_.access(at)) continue;
      ++first_misses;
      last_misses += !last_.access(at);
    }
  }

 private:
  std::uint64_t page_lines_;
  cache_level first_{8 << 10, 8}, last_{64 << 10, 16};
  cache_level tlb_{64 * line_bytes, 64};  ///< one set of 64 entries; an entry holds a page, not a line
  std::unordered_map<std::uint64_t, std::uint64_t> places_;
  std::uint64_t last_page_ = ~std::uint64_t{0}, last_place_ = 0;
};

/// One core's access to shared memory.
struct shared_access {
  std::uint64_t address;
  bool store;
};

/// How often a line moves from core to core, which happens when a core accesses a line that another core has written
/// since this core last had it. The cores take turns, one access each, until all are done. A store takes the line from
/// all other cores; a load leaves it there. Each core's cache holds everything.
inline std::uint64_t lines_moved(const std::vector<std::vector<shared_access>>& cores) {
  struct state {
    std::uint64_t holders = 0;  ///< a bit for each core
    bool written = false;
  };
  std::unordered_map<std::uint64_t, state> lines;
  std::uint64_t moved = 0;
  std::size_t longest = 0;
  for (const auto& one : cores) longest = std::max(longest, one.size());
  for (std::size_t step = 0; step < longest; ++step)
    for (std::size_t core = 0; core < cores.size(); ++core) {
      if (step >= cores[core].size()) continue;
      const shared_access& a = cores[core][step];
      state& line = lines[a.address / line_bytes];
      const std::uint64_t self = std::uint64_t{1} << core;
      moved += line.written && !(line.holders & self);
      line.holders = a.store ? self : line.holders | self;
      line.written |= a.store;
    }
  return moved;
}

}  // namespace lab12
