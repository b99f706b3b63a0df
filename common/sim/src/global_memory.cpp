// Warp instructions on global memory: sectors and lines, the warp's waiting time, bounds, and reads of unwritten
// memory.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "addresses.hpp"
#include "devices.hpp"
#include "grid.hpp"
#include "observer.hpp"
#include "program.hpp"

namespace sim {
namespace {

/// Atomics on one address run one after another; each round covers all sectors with atomics left. Observed on an
/// H200.
std::size_t atomic_sectors(std::span<const std::uintptr_t> a) {
  std::uintptr_t sorted[lanes_per_warp], of_round[lanes_per_warp];
  std::copy(a.begin(), a.end(), sorted);
  std::sort(sorted, sorted + a.size());
  std::size_t total = 0, found = 1;
  for (std::size_t round = 0; found > 0; ++round) {  // one lane for each address
    found = 0;
    for (std::size_t i = round; i < a.size(); ++i)
      if (sorted[i] == sorted[i - round] && (i == round || sorted[i - round - 1] != sorted[i - round]))
        of_round[found++] = sorted[i] / sector_bytes;
    total += static_cast<std::size_t>(std::unique(of_round, of_round + found) - of_round);
  }
  return total;
}

/// The bytes that a link carries for one line: all from the first sector to the last; half a sector for a store to half
/// of one. Observed between two H200s.
unsigned link_bytes(unsigned sectors_in_line, operation op, unsigned words) {
  const bool half = op != operation::load && std::has_single_bit(sectors_in_line) && words != 0 &&
                    ((words & 0x0f) == 0 || (words & 0xf0) == 0);
  const int span = std::bit_width(sectors_in_line) - std::countr_zero(sectors_in_line);
  return half ? sector_bytes / 2 : static_cast<unsigned>(span) * sector_bytes;
}

}  // namespace

/// Whether the warp has made this request before, since the last barrier.
bool observer::is_again(cached_site& entry, const warp_position& where) const {
  const bool again = entry.epoch == block_->epoch && entry.warp == where.first_thread;
  entry.epoch = block_->epoch;
  entry.warp = where.first_thread;
  return again;
}

/// How the warp waits for this load, as far as the accesses show: a field of its path, or null.
std::uint64_t warp_path::*observer::wait_for(cached_site& entry, std::span<const std::uintptr_t> a, std::uintptr_t low,
                                             bool near, const warp_position& where) {
  const bool again = is_again(entry, where);
  const bool same_visit = std::exchange(entry.visit, visits_) == visits_;
  const bool stored = std::exchange(entry.stores, stores_) != stores_;
  const std::uintptr_t stride = low - std::exchange(entry.last, low);
  const bool goes_on = again && entry.stride == stride;
  entry.stride = again ? stride : 0;
  if (goes_on && !stored) {
    if (stride == 0) return nullptr;  // the value is in a register, or the warp waits for another thread
    // nvcc unrolls if it knows the step and there is no store in between.
    if (basic_block_ && basic_block_->counted) return near ? &warp_path::loads_ahead_near : &warp_path::loads_ahead;
    // nvcc unrolls a grid-stride loop by four, and the first load waits for all. The first three may be the remainder.
    if (basic_block_ && basic_block_->stepped && ++entry.turns > 3 && entry.turns % 4 != 0) return nullptr;
  } else {
    entry.turns = again ? 2 : 1;
  }
  const bool first = std::exchange(first_load_, false);
  // A row, or a tile of a matrix; otherwise the address itself was loaded.
  const std::uintptr_t step = a.size() < 8 ? 0 : a[4] - a[0];
  const bool even = a.size() < 8 || (a[5] - a[1] == step && a[6] - a[2] == step && a[7] - a[3] == step);
  const bool part = again && same_visit;  // parts of a fragment: one instruction here is several on the GPU
  // nvcc moves no load before a store that may have the same address, and the store has waited for its value.
  if (first || (!part && (!even || (again && stored) || stores_ != stores_waited_))) {
    stores_waited_ = stores_;
    return near ? &warp_path::loads_near : &warp_path::loads;
  }
  return near ? nullptr : &warp_path::loads_beside;
}

/// Here the warps of a block run one after another; on a GPU they run concurrently. So the distance is how far this
/// warp has advanced since it, or another warp at the same point of its own path, loaded the sector.
observer::reuse observer::note_reuse(std::uintptr_t line, std::uint8_t sectors, std::uint32_t now,
                                     const warp_position& where) {
  recent_line& entry = line_entry(line);
  if (entry.line != line || entry.block != block_->number) {
    entry = {line, block_->number, now, sectors};
    return {};
  }
  const bool earlier = now < entry.first && where.first_thread != entry.warp && entry.epoch == block_->epoch &&
                       (entry.sectors & ~sectors) == 0;
  if (earlier) {  // on a GPU, the warp that waited for the line here finds it in L1
    warp_path& other = block_->paths[entry.warp / lanes_per_warp];
    other.*entry.waits -= entry.count;
    other.loads_near += entry.count;
    entry.count = entry.epoch = 0;
  }
  const std::uint8_t known = entry.sectors & sectors;
  const auto distance = static_cast<unsigned>(std::bit_width(now > entry.at ? now - entry.at : entry.at - now));
  if (known != 0)
    counts_.reuse[std::min<std::size_t>(distance, counts_.reuse.size() - 1)] +=
        static_cast<unsigned>(std::popcount(known));
  entry.sectors |= sectors;
  entry.at = now;
  const bool in_l1 = known == sectors && distance <= near_distance_;
  return {in_l1 && !earlier, in_l1};
}

/// The slow, thorough check: bounds and initialisation of one lane's access.
void observer::global_lane(std::uint64_t site, std::uintptr_t address, std::uint8_t lane, const warp_position& where) {
  if (address - heap_base >= heap_bytes) return;  // a __device__ variable
  const std::size_t bytes = site_bytes(site);
  const operation op = site_operation(site);
  const allocation* entry = find_allocation(address);
  if (!entry || address + bytes > entry->end || entry->in_padding(address)) {
    bool freed = false;
    nearest_allocation(address, &freed);
    freed = freed && !freed_in_earlier_call(address);
    report(freed ? fault::use_after_free : fault::out_of_bounds, site, space::global, where, lane, address);
    return;
  }
  if (const int device = current_device(); !may_access(device, *entry)) {
    report(fault::other_device, site, space::global, where, lane, address, why_not(device, *entry));
    return;
  }
  std::uint8_t* valid = shadow().valid;
  for (std::uintptr_t b = address - heap_base; b < address - heap_base + bytes; ++b) {
    const auto bit = static_cast<std::uint8_t>(1u << (b % word_bytes));
    // Unobserved blocks do not mark their writes, and with a budget some blocks do not run.
    if (op != operation::store && sampling() == 1 && !memory_is_partial() &&
        !(__atomic_load_n(valid + b / word_bytes, __ATOMIC_RELAXED) & bit)) {
      report(fault::uninitialised, site, space::global, where, lane, address);
      return;
    }
    if (op != operation::load) __atomic_fetch_or(valid + b / word_bytes, bit, __ATOMIC_RELAXED);
  }
}

allocation_counts& observer::allocation_counts_of(const allocation& home) {
  allocation_counts& counts = counts_.allocations[home.begin];
  counts.remote = home.kind == memory_kind::device && home.device != current_device();
  return counts;
}

/// A request to several allocations.
void observer::count_by_allocation(operation op, std::span<const std::uintptr_t> a, std::size_t bytes) {
  if (a[0] - heap_base >= heap_bytes) return;  // __device__ variables
  std::uintptr_t sorted[lanes_per_warp];
  std::copy(a.begin(), a.end(), sorted);
  const std::size_t different = distinct({sorted, a.size()});
  for (std::size_t i = 0; i < different; ++i)
    if (const allocation* home = find_allocation(sorted[i])) allocation_counts_of(*home).add(op, bytes);
}

/// Finds races with other blocks, other threads of the block, and other launches. This memory's shadow begins at
/// `base`.
[[gnu::always_inline]] inline void observer::check_races(std::uint64_t site, std::span<const std::uintptr_t> a,
                                                         std::span<const std::uint8_t> lanes,
                                                         const warp_position& where,
                                                         std::span<const touched_sector> sectors, std::uintptr_t low,
                                                         std::uintptr_t high, bool row, bool distinct,
                                                         std::uintptr_t base) {
  for (std::size_t i = 0; i < sectors.size(); ++i) {
    const std::uintptr_t s = sectors[i].sector - base / sector_bytes;
    const conflict found = use_words(shadow().sectors[s], &shadow().sectors[s ^ 1], sectors[i].words, site, where);
    if (found.words != 0) report_conflict(found, sectors[i].sector * sector_bytes, word_bytes, site, a, lanes, where);
  }
  if (site_bytes(site) < word_bytes) check_bytes(site, a, lanes, where, base);
  const std::uint32_t warp = where.first_thread / lanes_per_warp, mask = mask_of(lanes);
  for (std::size_t i = 0; i < sectors.size();) {
    const std::uintptr_t line = sectors[i].sector / (line_bytes / sector_bytes);
    accesses_.touch(shadow().lines[line - base / line_bytes], site_operation(site) != operation::load,
                    accesses_.number(warp), block_->first_access);
    while (i < sectors.size() && sectors[i].sector / (line_bytes / sector_bytes) == line) ++i;
  }
  for (const std::uint32_t number : accesses_.met()) {
    const recent_accesses::entry* before = accesses_.find(number);
    if (!before) continue;
    const bool same = row && before->details == 0 && before->low == low && before->high == high &&
                      before->first_thread == where.first_thread && before->lanes == mask;
    if (!same) check_block(site, a, lanes, *before, where);  // usually there is only the thread's own access
  }
  if (!distinct && site_operation(site) == operation::store) check_within(site, a, lanes, where);
  recent_accesses::entry& entered = accesses_.add(warp);
  entered.site = site;
  entered.block = static_cast<std::uint32_t>(where.block);
  entered.low = low;
  entered.high = high;
  entered.first_thread = where.first_thread;
  entered.lanes = mask;
  entered.sync = block_->syncs[warp];
  entered.clock = block_->order.clock(where.first_thread + lanes[0]);
  entered.details = 0;
  if (!row || !block_->order.even()) {
    recent_accesses::detail& d = accesses_.add_detail(entered);
    std::copy(a.begin(), a.end(), d.address.begin());
    for (std::size_t i = 0; i < lanes.size(); ++i) d.clock[i] = block_->order.clock(where.first_thread + lanes[i]);
  }
}

void observer::global(std::uint64_t site, std::span<const std::uintptr_t> a, std::span<const std::uint8_t> lanes,
                      const warp_position& where) {
  const std::size_t bytes = site_bytes(site);
  const operation op = site_operation(site);
  cached_site& entry = cached(space::global, site);
  enter_basic_block(entry, where);
  site_counts& counts = *entry.counts;
  ++counts.requests;
  counts.lanes += a.size();

  std::uintptr_t low = a[0], high = a[0], bits = 0;
  for (std::uintptr_t x : a) {
    low = std::min(low, x);
    high = std::max(high, x);
    bits |= x;
  }
  high += bytes;
  counts.low = std::min(counts.low, low);
  counts.high = std::max(counts.high, high);
  const bool row = consecutive(a, bytes);
  touched_sector sectors[lanes_per_warp + 1];
  std::size_t count = 0, different = a.size();
  const auto add = [&](std::uintptr_t begin, std::uintptr_t end) {  // within one sector
    const std::uintptr_t s = begin / sector_bytes;
    if (count == 0 || s != sectors[count - 1].sector) sectors[count++] = {s, 0};
    if (bytes < word_bytes) return;  // see check_bytes
    const unsigned first = begin % sector_bytes / word_bytes, last = (end - 1) % sector_bytes / word_bytes;
    sectors[count - 1].words |= static_cast<std::uint8_t>((2u << last) - (1u << first));
  };
  if (low == high - bytes) {
    add(low, high);
    different = 1;
  } else if (row) {
    count = (high - 1) / sector_bytes - low / sector_bytes + 1;
    if (count > lanes_per_warp) count = 0;  // 16 bytes each: below
    for (std::size_t i = 0; i < count; ++i) {
      const std::uintptr_t s = low / sector_bytes + i;
      sectors[i] = {s, static_cast<std::uint8_t>(bytes < word_bytes ? 0 : 0xFF)};
    }
    if (bytes >= word_bytes && count > 0) {
      sectors[0].words &= static_cast<std::uint8_t>(0xFFu << (low % sector_bytes / word_bytes));
      sectors[count - 1].words &= static_cast<std::uint8_t>(0xFFu >> (7 - (high - 1) % sector_bytes / word_bytes));
    }
  } else {
    std::uintptr_t sorted[lanes_per_warp];
    std::copy(a.begin(), a.end(), sorted);
    different = distinct({sorted, a.size()});
    for (std::size_t i = 0; i < different; ++i) add(sorted[i], sorted[i] + bytes);
  }
  std::size_t lines = count > 0;
  for (std::size_t i = 1; i < count; ++i) lines += sectors[i].sector / 4 != sectors[i - 1].sector / 4;
  if (op != operation::atomic)
    counts.lines += lines;
  else
    counts.lines += site_in_warp(site) && different == 1 ? 1 : atomic_sectors(a);
  counts.sectors += op == operation::atomic ? atomic_sectors(a) : count;
  const std::uint64_t moved = different * bytes;
  counts.bytes += moved;
  counts.ideal_sectors += std::min(count, (a.size() * bytes + sector_bytes - 1) / sector_bytes);

  allocation_counts* counted = entry.of_allocation;
  if (low < entry.begin || high > entry.end) {
    const program_range variables = program_data();
    if (low - variables.begin < variables.bytes && high - variables.begin <= variables.bytes)
      return check_races(site, a, lanes, where, {sectors, count}, low, high, row, different == a.size(),
                         variables.begin - heap_bytes);
    const allocation* home = find_allocation(low);
    const bool padding =
        home && home->pitch != 0 && std::ranges::any_of(a, [&](std::uintptr_t x) { return home->in_padding(x); });
    if (!home || high > home->end || padding || !may_access(current_device(), *home)) {
      count_by_allocation(op, a, bytes);
      for (std::size_t i = 0; i < a.size(); ++i) global_lane(site, a[i], lanes[i], where);
      return;
    }
    allocation_counts& of_allocation = allocation_counts_of(*home);
    counted = &of_allocation;
    if (!in_kernel_heap(home->begin)) {  // the kernel heap changes during a launch
      const std::uintptr_t row_begin =
          home->pitch != 0 ? home->begin + (low - home->begin) / home->pitch * home->pitch : 0;
      entry.begin = row_begin != 0 ? row_begin : home->begin;
      entry.end = row_begin != 0 ? row_begin + home->row_bytes : home->end;
      entry.of_allocation = &of_allocation;
    }
  }
  counted->add(op, moved);

  if (op == operation::load) {
    std::uint32_t& now = block_->lines[where.first_thread / lanes_per_warp];
    if (sectors[0].sector / 4 != entry.last / (4 * sector_bytes)) now += static_cast<std::uint32_t>(lines);
    bool near = true;
    for (std::size_t i = 0; i < count;) {
      const std::uintptr_t line = sectors[i].sector / 4;
      unsigned in_line = 0;
      for (; i < count && sectors[i].sector / 4 == line; ++i) in_line |= 1u << (sectors[i].sector % 4);
      const reuse found = note_reuse(line, static_cast<std::uint8_t>(in_line), now, where);
      near &= found.near;
      if (counted->remote && !found.in_l1) counted->link_loaded += link_bytes(in_line, op, 0);
    }
    if (const auto waits = wait_for(entry, a, low, near, where)) {
      ++(path_of(where).*waits);
      if (!near && lines == 1)
        line_entry(sectors[0].sector / 4).note_wait(waits, now, where.first_thread, block_->epoch);
    }
  } else if (op == operation::store) {
    ++stores_;
  } else {
    // The same address again: the warp probably waits for another thread. A constant distance: the address does not
    // depend on the previous load's result, so both loads are in flight.
    const std::uintptr_t stride = low - std::exchange(entry.last, low);
    const bool again = is_again(entry, where);
    path_of(where).atomics += !again || (stride != 0 && stride != entry.stride);
    entry.stride = again ? stride : 0;
  }
  if (counted->remote && op != operation::load)
    for (std::size_t i = 0; i < count;) {
      const std::uintptr_t line = sectors[i].sector / 4;
      unsigned in_line = 0;
      const unsigned words = sectors[i].words;
      for (; i < count && sectors[i].sector / 4 == line; ++i) in_line |= 1u << (sectors[i].sector % 4);
      counted->link_stored += link_bytes(in_line, op, words);
    }
  check_races(site, a, lanes, where, {sectors, count}, low, high, row, different == a.size(), heap_base);

  std::uint8_t* valid = shadow().valid;
  const bool whole_words = (bytes % word_bytes == 0) && (bits % word_bytes == 0);
  if (whole_words && op != operation::atomic) {
    const std::size_t words = bytes / word_bytes;
    if (row) {
      std::uint8_t* first = valid + (low - heap_base) / word_bytes;
      const std::size_t n = a.size() * words;
      if (op == operation::store) {
        std::memset(first, 0x0F, n);
        return;
      }
      std::uint8_t all = 0x0F;
      for (std::size_t i = 0; i < n; ++i) all &= first[i];
      if (all == 0x0F) return;
    } else if (op == operation::store) {
      for (std::uintptr_t x : a) std::memset(valid + (x - heap_base) / word_bytes, 0x0F, words);
      return;
    } else {
      std::uint8_t all = 0x0F;
      for (std::uintptr_t x : a)
        for (std::size_t w = 0; w < words; ++w) all &= valid[(x - heap_base) / word_bytes + w];
      if (all == 0x0F) return;
    }
  }
  for (std::size_t i = 0; i < a.size(); ++i) global_lane(site, a[i], lanes[i], where);
}

}  // namespace sim
