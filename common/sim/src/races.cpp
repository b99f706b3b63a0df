// Races between blocks and between streams, by the words of a sector.
#include "observer.hpp"

namespace sim {

/// Adds this block's use of the words; returns what was there before.
sector_use observer::note(std::atomic<sector_use>& cell, std::uint8_t words, std::uint32_t block) const {
  sector_use was = cell.load(std::memory_order_relaxed);
  for (;;) {
    sector_use now = was;
    if (was.epoch != epoch_)
      now = {epoch_, words, 0, block};
    else if (was.block == block)
      now.one |= static_cast<std::uint8_t>(words & ~was.many);
    else {
      now.many |= words & was.one;
      now.one &= static_cast<std::uint8_t>(~now.many);
    }
    if (now.epoch == was.epoch && now.one == was.one && now.many == was.many) return was;
    if (cell.compare_exchange_weak(was, now)) return was;
  }
}

observer::conflict observer::conflict_with(const sector_use& use, std::uint8_t words, std::uint32_t block) const {
  if (use.epoch == epoch_) {
    const int theirs = use.many | (use.block != block ? use.one : 0);
    return {static_cast<std::uint8_t>(words & theirs), false, use.block};
  }
  if (concurrent_ && use.epoch != 0 && concurrent_->test(use.epoch))
    return {static_cast<std::uint8_t>(words & (use.one | use.many)), true, use.epoch};
  return {};
}

/// A load and a store of the same word by different blocks of a launch, or by launches that nothing orders. Atomics are
/// ordered by themselves.
observer::conflict observer::use_sector(std::uintptr_t sector, std::uint8_t words, operation op, std::uint32_t block) {
  sector_shadow& shadow = sim::shadow().sectors[sector];
  conflict found;
  const std::uint8_t plain = op == operation::atomic ? 0 : words;
  if (op != operation::store) {
    const sector_use before = note(shadow.loaded, plain, block);
    if (before.epoch != epoch_) {
      ++counts_.unique_loaded_sectors;
      const sector_use beside = sim::shadow().sectors[sector ^ 1].loaded.load(std::memory_order_relaxed);
      counts_.unique_loaded_pairs += beside.epoch != epoch_;
    }
    if (op == operation::load) found = conflict_with(shadow.stored.load(std::memory_order_relaxed), plain, block);
  }
  if (op != operation::load) {
    const sector_use before = note(shadow.stored, plain, block);
    counts_.unique_stored_sectors += before.epoch != epoch_;
    if (op == operation::store) {
      counts_.shared_stores += before.epoch == epoch_ && before.block != block;
      found = conflict_with(shadow.loaded.load(std::memory_order_relaxed), plain, block);
      if (found.words == 0 && before.epoch != epoch_) found = conflict_with(before, plain, block);
    }
  }
  return found;
}

void observer::report_conflict(const conflict& c, std::uintptr_t sector, std::uint64_t site,
                               std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
                               const warp_position& where) {
  const auto word = static_cast<std::uintptr_t>(__builtin_ctz(c.words));
  const std::uintptr_t address = heap_base + sector * sector_bytes + word * word_bytes;
  std::size_t i = 0;
  while (i + 1 < addresses.size() && !(addresses[i] <= address && address < addresses[i] + site_bytes(site))) ++i;
  fault_report r;
  r.what = c.streams ? fault::stream_race : fault::global_race;
  r.site = site & site_mask;
  r.where = space::global;
  r.block = where.block;
  r.thread = where.first_thread + lanes[i];
  r.address = address;
  r.other_block = c.with;
  counts_.add(r);
}

}  // namespace sim
