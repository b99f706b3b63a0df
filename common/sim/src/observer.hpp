// From lanes' accesses to warp instructions: sectors, wavefronts, and what was wrong with them.
#pragma once

#include <span>
#include <unordered_map>

#include "internal.hpp"

namespace sim {

/// Where a warp stands: enough to name a thread in a report.
struct warp_position {
  std::uint64_t block = 0;         ///< linear block index
  std::uint32_t first_thread = 0;  ///< linear thread index of lane 0
};

/// Counts for one worker. Shared memory is that of the block which the worker runs.
class observer {
 public:
  void begin_launch(std::uint8_t epoch, std::uintptr_t thread_pointer, std::size_t dynamic_shared_bytes);
  void begin_block();  ///< shared memory becomes unwritten, and reads as NaN

  /// One warp instruction: `lanes[i]` accessed `addresses[i]`; lanes ascend.
  void instruction(std::uint64_t site, std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
                   const warp_position& where);

  void report(fault what, std::uint64_t site, space where, const warp_position& position, std::uint32_t lane,
              std::uintptr_t address, std::string detail = {});
  launch_counts& counts() { return counts_; }
  launch_counts take();  ///< counts so far, and starts anew
  std::size_t static_shared_bytes() const;

 private:
  struct cached_site {
    site_counts* counts = nullptr;
    std::uintptr_t begin = 0, end = 0;  ///< allocation or array that this site touched last
  };
  cached_site& cached(space where, std::uint64_t site);
  void global(std::uint64_t site, std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
              const warp_position& where);
  void shared(std::uint64_t site, std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
              const warp_position& where);
  void global_lane(std::uint64_t site, std::uintptr_t address, std::uint8_t lane, const warp_position& where);
  void touch_sectors(std::uintptr_t first, std::uintptr_t last, bool load, bool store);

  launch_counts counts_;
  std::unordered_map<std::uint64_t, cached_site> cache_[2];
  std::uint64_t last_key_[2] = {0, 0};
  cached_site* last_[2] = {nullptr, nullptr};
  std::uint8_t epoch_ = 0;
  std::uintptr_t thread_pointer_ = 0, shared_begin_ = 0;
  std::vector<std::uint8_t> shared_valid_;  ///< by word of thread-local storage, like shadow_memory::valid
  std::vector<shared_array> arrays_;        ///< those in force in this launch, dynamic ones cut to size
  std::vector<char> touched_;               ///< by array
  std::vector<std::uintptr_t> guards_;
};

}  // namespace sim
