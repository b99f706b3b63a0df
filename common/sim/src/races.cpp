// Races between blocks and between streams, by the words of a sector.
#include <algorithm>

#include "addresses.hpp"
#include "blocks.hpp"
#include "observer.hpp"
#include "program.hpp"

namespace sim {
namespace {

bool distinct_words(std::span<const std::uintptr_t> a) {
  std::uintptr_t sorted[lanes_per_warp];
  std::copy(a.begin(), a.end(), sorted);
  return distinct({sorted, a.size()}) == a.size();
}

fault_report race_in_block(std::uint64_t site, std::uint32_t thread, std::uint64_t other_site, std::uint32_t other,
                           std::uintptr_t address, const warp_position& where) {
  fault_report r;
  r.what = fault::block_race;
  r.site = site & site_mask;
  r.where = space::global;
  r.block = where.block;
  r.thread = thread;
  r.address = address;
  r.other_site = other_site & site_mask;
  r.other_thread = other;
  r.other = thread / lanes_per_warp == other / lanes_per_warp ? party::thread_of_warp : party::thread;
  return r;
}

}  // namespace

/// Adds this block's use of the words; returns the previous state.
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

observer::conflict observer::conflict_with(const sector_use& use, std::uint8_t words,
                                           const warp_position& where) const {
  const auto block = static_cast<std::uint32_t>(where.block);
  if (use.epoch == epoch_) {
    const int theirs = use.many | (use.block != block ? use.one : 0);
    return {static_cast<std::uint8_t>(words & theirs), fault::global_race, use.block != block ? use.block : some_block};
  }
  const auto used = static_cast<std::uint8_t>(words & (use.one | use.many));
  if (others_.concurrent && use.epoch != 0 && others_.concurrent->test(use.epoch))
    return {used, fault::stream_race, use.epoch};
  const bool waited = ((block_->waited >> (where.first_thread / lanes_per_warp)) & 1) != 0;
  const epochs* const running = waited ? others_.after_wait : others_.at_begin;
  if (running && use.epoch != 0 && running->test(use.epoch)) return {used, fault::early_access, use.epoch};
  return {};
}

/// Finds a load and a store of one word by different blocks of a launch, or by unordered launches. Atomics order
/// themselves; those with block scope, only within their block. Beside plain accesses they count as loads: a load
/// before an atomic is usually a guess that the atomic verifies. Counts sectors if `beside` is this one's neighbour;
/// null: `shadow` has bytes in place of words.
observer::conflict observer::use_words(sector_shadow& shadow, const sector_shadow* beside, std::uint8_t words,
                                       std::uint64_t site, const warp_position& where) {
  const auto block = static_cast<std::uint32_t>(where.block);
  conflict found;
  const operation op = site_operation(site);
  const bool ordered = op == operation::atomic && !site_in_block(site);
  const std::uint8_t plain = ordered ? 0 : words;
  if (op != operation::store) {
    const sector_use before = note(shadow.loaded, words, block);
    if (beside && before.epoch != epoch_) {
      ++counts_.unique_loaded_sectors;
      counts_.unique_loaded_pairs += beside->loaded.load(std::memory_order_relaxed).epoch != epoch_;
    }
    found = conflict_with(shadow.stored.load(std::memory_order_relaxed), words, where);
  }
  if (op != operation::load) {
    const sector_use before = note(shadow.stored, plain, block);
    counts_.unique_stored_sectors += beside && before.epoch != epoch_;
    counts_.shared_stores += beside && op == operation::store && before.epoch == epoch_ && before.block != block;
    if (!ordered && found.words == 0) {
      found = conflict_with(shadow.loaded.load(std::memory_order_relaxed), plain, where);
      if (found.words == 0 && before.epoch != epoch_) found = conflict_with(before, plain, where);
    }
  }
  return found;
}

/// Finds races between accesses of one or two bytes, as use_words does for words.
void observer::check_bytes(std::uint64_t site, std::span<const std::uintptr_t> a, std::span<const std::uint8_t> lanes,
                           const warp_position& where, std::uintptr_t base) {
  for (std::size_t i = 0; i < a.size();) {
    const std::uintptr_t at = a[i] / bytes_per_mask;
    std::uint8_t bytes = 0;
    for (; i < a.size() && a[i] / bytes_per_mask == at; ++i)
      bytes |= static_cast<std::uint8_t>(((1u << site_bytes(site)) - 1) << (a[i] % bytes_per_mask));
    const conflict found = use_words(shadow().bytes[at - base / bytes_per_mask], nullptr, bytes, site, where);
    if (found.words != 0) report_conflict(found, at * bytes_per_mask, 1, site, a, lanes, where);
  }
}

/// Reports if this instruction and an earlier one of the block touch a common word in different, unordered threads.
void observer::check_block(std::uint64_t site, std::span<const std::uintptr_t> a, std::span<const std::uint8_t> lanes,
                           const recent_accesses::entry& before, const warp_position& where) {
  const operation op = site_operation(site), other_op = site_operation(before.site);
  if (op == operation::load && other_op == operation::load) return;
  // Skip flags, and one instruction in several threads, where any thread's store may win, unless the values differ.
  if (site_strength(site) != strength::plain && site_strength(before.site) != strength::plain) return;
  const bool same_site = static_cast<std::uint32_t>(site) == static_cast<std::uint32_t>(before.site);
  if (same_site && op != operation::load && op != operation::store) return;
  if (before.block != static_cast<std::uint32_t>(where.block)) return;
  const bool same_warp = before.first_thread == where.first_thread;
  if (same_warp && before.sync != block_->syncs[where.first_thread / lanes_per_warp]) return;
  const std::size_t bytes = site_bytes(site), other_bytes = site_bytes(before.site);
  if (a[0] >= before.high || a.back() + bytes <= before.low) {  // fast path for ascending addresses
    bool apart = true;
    for (const std::uintptr_t x : a) apart &= x >= before.high || x + bytes <= before.low;
    if (apart) return;
  }
  const recent_accesses::detail* detail = accesses_.detail_of(before);
  const auto count = static_cast<std::size_t>(__builtin_popcount(before.lanes));
  std::uint8_t other_lanes[lanes_per_warp];
  std::size_t n = 0;
  for (std::uint32_t rest = before.lanes; rest != 0; rest &= rest - 1)
    other_lanes[n++] = static_cast<std::uint8_t>(__builtin_ctz(rest));
  const auto address = [&](std::size_t i) { return detail ? detail->address[i] : before.low + i * other_bytes; };
  if (same_warp && bytes == other_bytes && a.size() == count) {
    bool same = true;
    for (std::size_t i = 0; i < count; ++i) same &= a[i] == address(i) && lanes[i] == other_lanes[i];
    if (same && distinct_words(a)) return;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] >= before.high || a[i] + bytes <= before.low) continue;
    for (std::size_t j = 0; j < count; ++j) {
      if (address(j) >= a[i] + bytes || address(j) + other_bytes <= a[i]) continue;
      const std::uint32_t thread = where.first_thread + lanes[i], other = before.first_thread + other_lanes[j];
      if (thread == other || block_->order.ordered(other, detail ? detail->clock[j] : before.clock, thread)) continue;
      if (same_site && op == operation::store && (bytes != other_bytes || !changes_value(i, lanes[i]))) break;
      counts_.add(race_in_block(site, thread, before.site, other, std::max(a[i], address(j)), where));
      return;
    }
  }
}

/// Reports if threads of a warp store different values to one address by this instruction.
void observer::check_within(std::uint64_t site, std::span<const std::uintptr_t> a, std::span<const std::uint8_t> lanes,
                            const warp_position& where) {
  for (std::size_t i = 1; i < a.size(); ++i) {
    const auto other = static_cast<std::size_t>(std::find(a.begin(), a.end(), a[i]) - a.begin());
    if (other == i || !changes_value(i, lanes[i])) continue;
    return counts_.add(
        race_in_block(site, where.first_thread + lanes[i], site, where.first_thread + lanes[other], a[i], where));
  }
}

/// Whether a store of one of an instruction's lanes replaced another value than the one there now, and one that the
/// lane did not store itself. The lanes run one after another up to the next barrier, and are merged before the next
/// warp.
bool observer::changes_value(std::size_t position, std::uint32_t lane) const {
  if (!heads_) return false;
  const access* const record = heads_[position] + step_;
  const std::uintptr_t address = record->address & address_mask;
  if (site_operation(record->site) != operation::store || site_strength(record->site) != strength::plain ||
      record->address >> address_bits == hash_of_value(address, site_bytes(record->site)))
    return false;
  return std::none_of(static_cast<const access*>(records_[lane].begin), record, [&](const access& before) {
    return site_operation(before.site) == operation::store && (before.address & address_mask) == address;
  });
}

/// A race for words, or bytes, of a sector or part of one that begins there.
void observer::report_conflict(const conflict& c, std::uintptr_t begin, std::size_t bytes, std::uint64_t site,
                               std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
                               const warp_position& where) {
  const std::uintptr_t address = begin + static_cast<std::uintptr_t>(__builtin_ctz(c.words)) * bytes;
  std::size_t i = 0;
  while (i + 1 < addresses.size() && !(addresses[i] <= address && address < addresses[i] + site_bytes(site))) ++i;
  fault_report r;
  r.what = c.what;
  r.site = site & site_mask;
  r.where = space::global;
  r.block = where.block;
  r.thread = where.first_thread + lanes[i];
  r.address = address;
  r.other_block = c.with;
  counts_.add(r);
}

}  // namespace sim
