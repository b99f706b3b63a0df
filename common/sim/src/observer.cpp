#include "observer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace sim {

void site_counts::add(const site_counts& o) {
  requests += o.requests;
  lanes += o.lanes;
  bytes += o.bytes;
  sectors += o.sectors;
  lines += o.lines;
  ideal_sectors += o.ideal_sectors;
  wavefronts += o.wavefronts;
  ideal_wavefronts += o.ideal_wavefronts;
  low = std::min(low, o.low);
  high = std::max(high, o.high);
}

void fault_report::merge(const fault_report& other) {
  const std::uint64_t both = occurrences + other.occurrences;
  if (std::pair{other.block, other.thread} < std::pair{block, thread}) *this = other;
  occurrences = both;
}

void launch_counts::add(const fault_report& report) {
  auto [entry, fresh] = faults.try_emplace({report.what, report.site}, report);
  if (!fresh) entry->second.merge(report);
}

void launch_counts::add(const launch_counts& o) {
  for (const auto& [key, counts] : o.sites) sites[key].add(counts);
  for (const auto& [key, report] : o.faults) add(report);
  unique_loaded_sectors += o.unique_loaded_sectors;
  unique_stored_sectors += o.unique_stored_sectors;
  unique_loaded_pairs += o.unique_loaded_pairs;
  shared_stores += o.shared_stores;
  for (std::size_t k = 0; k < reuse.size(); ++k) reuse[k] += o.reuse[k];
  barriers += o.barriers;
  collectives += o.collectives;
  path.add(o.path);
  longest.take_longer(o.longest);
  accesses += o.accesses;
  fenced |= o.fenced;
  hands_over_global |= o.hands_over_global;
  hands_over_shared |= o.hands_over_shared;
}

void launch_counts::scale(double factor) {
  const auto apply = [factor](std::uint64_t& n) {
    n = static_cast<std::uint64_t>(static_cast<double>(n) * factor + 0.5);
  };
  for (auto& [key, c] : sites)
    for (std::uint64_t* n :
         {&c.requests, &c.lanes, &c.bytes, &c.sectors, &c.ideal_sectors, &c.lines, &c.wavefronts, &c.ideal_wavefronts})
      apply(*n);
  for (std::uint64_t* n :
       {&unique_loaded_sectors, &unique_loaded_pairs, &unique_stored_sectors, &shared_stores, &barriers, &collectives})
    apply(*n);
  for (std::uint64_t& n : reuse) apply(n);
  path.combine({}, [&](std::uint64_t n, std::uint64_t) {
    apply(n);
    return n;
  });
}

namespace {

/// Lanes of a warp access consecutive elements in order.
bool consecutive(std::span<const std::uintptr_t> a, std::size_t bytes) {
  std::uintptr_t different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different |= a[i] ^ (a[0] + i * bytes);
  return different == 0;
}

/// How many different values there are; sorts them.
std::size_t distinct(std::span<std::uintptr_t> values) {
  std::sort(values.begin(), values.end());
  return static_cast<std::size_t>(std::unique(values.begin(), values.end()) - values.begin());
}

/// Passes over the banks for the words of one phase: the bank with the most different words decides.
std::size_t bank_passes(std::span<std::uintptr_t> words) {
  const std::size_t count = distinct(words);
  std::uint8_t in_bank[bank_count] = {};
  std::uint8_t most = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, ++in_bank[words[i] % bank_count]);
  return most;
}

/// Atomics on the same address come one after another, each time with all the sectors that still have one: seen so on
/// an H200.
std::size_t atomic_sectors(std::span<const std::uintptr_t> a) {
  std::uintptr_t sorted[lanes_per_warp], of_round[lanes_per_warp];
  std::copy(a.begin(), a.end(), sorted);
  std::sort(sorted, sorted + a.size());
  std::size_t total = 0, found = 1;
  for (std::size_t round = 0; found > 0; ++round) {  // the lanes that are the round-th on their address
    found = 0;
    for (std::size_t i = round; i < a.size(); ++i)
      if (sorted[i] == sorted[i - round] && (i == round || sorted[i - round - 1] != sorted[i - round]))
        of_round[found++] = sorted[i] / sector_bytes;
    total += static_cast<std::size_t>(std::unique(of_round, of_round + found) - of_round);
  }
  return total;
}

struct shared_cost {
  std::size_t wavefronts = 0, ideal = 0, bytes = 0;
};

/// Each active lane n wants the same address as lane n ^ 1, or each the same as lane n ^ 2.
bool in_pairs(std::span<const std::uintptr_t> a, std::span<const std::uint8_t> lanes) {
  std::uintptr_t by_lane[lanes_per_warp] = {};
  for (std::size_t i = 0; i < a.size(); ++i) by_lane[lanes[i]] = a[i];
  for (const unsigned other : {1u, 2u}) {
    bool all = true;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::uintptr_t partner = by_lane[lanes[i] ^ other];
      all &= partner == 0 || partner == a[i];
    }
    if (all) return true;
  }
  return false;
}

/// Accesses of 8 bytes go by half warps, of 16 bytes by quarter warps; twice as many lanes at a time where lanes want
/// the same in pairs. Seen so on an H200: tests/goldens.
shared_cost shared_wavefronts(std::span<const std::uintptr_t> a, std::span<const std::uint8_t> lanes,
                              std::size_t bytes) {
  const bool same = std::all_of(a.begin(), a.end(), [&](std::uintptr_t x) { return x == a[0]; });
  if (bytes <= word_bytes && (same || consecutive(a, word_bytes))) return {1, 1, same ? bytes : a.size() * bytes};
  const std::size_t lanes_per_phase =
      bytes <= word_bytes ? lanes_per_warp : 2 * lanes_per_warp * word_bytes / bytes / (in_pairs(a, lanes) ? 1 : 2);
  shared_cost cost;
  std::uintptr_t words[lanes_per_warp * 4];
  std::copy(a.begin(), a.end(), words);
  cost.bytes = distinct({words, a.size()}) * bytes;
  for (std::size_t i = 0; i < a.size();) {
    const std::size_t phase = lanes[i] / lanes_per_phase;
    std::size_t count = 0;
    for (; i < a.size() && lanes[i] / lanes_per_phase == phase; ++i)
      for (std::uintptr_t w = a[i] / word_bytes; w <= (a[i] + bytes - 1) / word_bytes; ++w) words[count++] = w;
    cost.wavefronts += bank_passes({words, count});
    ++cost.ideal;
  }
  return cost;
}

}  // namespace

void observer::begin_launch(std::uint16_t epoch, std::uintptr_t thread_pointer, std::size_t dynamic_shared_bytes,
                            const std::bitset<65536>* concurrent) {
  epoch_ = epoch;
  concurrent_ = concurrent;
  thread_pointer_ = thread_pointer;
  shared_begin_ = thread_pointer + static_cast<std::uintptr_t>(thread_storage_offset());
  shared_bytes_ = thread_storage_bytes();
  arrays_ = shared_arrays();
  first_word_.clear();
  words_ = 0;
  for (shared_array& array : arrays_) {
    if (array.dynamic) {
      dynamic_ = {thread_pointer + static_cast<std::uintptr_t>(array.offset), array.bytes, dynamic_shared_bytes};
      array.bytes = std::min(array.bytes, dynamic_shared_bytes);
    }
    first_word_.push_back(words_);
    words_ += array.bytes / word_bytes + 1;
  }
  guards_.clear();
  for (const shared_array& array : arrays_)
    if (array.guard) guards_.push_back(thread_pointer + static_cast<std::uintptr_t>(array.offset));
  touched_.assign(arrays_.size(), 0);
}

void observer::begin_block(block_shadow& shadow, std::size_t warps) {
  block_ = &shadow;
  shadow.valid.assign(words_, 0);
  shadow.words.resize(words_);
  shadow.syncs.resize(warps);
  shadow.paths.assign(warps, {});
  shadow.path = {};
  shadow.lines.assign(warps, 0);
  shadow.number = ++block_numbers_;
  for (const shared_array& array : arrays_)
    std::memset(reinterpret_cast<void*>(thread_pointer_ + static_cast<std::uintptr_t>(array.offset)), 0xFF,
                array.bytes);
  shadow.epoch = ++block_epochs_;
}

void observer::end_phase() {
  warp_path longest;
  for (warp_path& warp : block_->paths) longest.take_longer(std::exchange(warp, {}));
  block_->path.add(longest);
}

void observer::barrier() {
  end_phase();
  ++block_->path.barriers;
  block_->epoch = ++block_epochs_;
}

void observer::end_block() {
  end_phase();
  counts_.path.add(block_->path);
  counts_.longest.take_longer(block_->path);
}

std::size_t observer::static_shared_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < arrays_.size(); ++i)
    if (touched_[i] && !arrays_[i].dynamic) bytes += arrays_[i].bytes;
  return bytes;
}

launch_counts observer::take() {
  sites_.clear();
  for (cached_site& entry : recent_) entry = {};
  return std::exchange(counts_, {});
}

void observer::report(fault what, std::uint64_t site, space where, const warp_position& position, std::uint32_t lane,
                      std::uintptr_t address, std::string detail) {
  fault_report r;
  r.what = what;
  r.site = site & site_mask;
  r.where = where;
  r.block = position.block;
  r.thread = position.first_thread + lane;
  r.address = address;
  r.detail = std::move(detail);
  counts_.add(r);
}

observer::cached_site& observer::cached(space where, std::uint64_t site) {
  const std::uint64_t key = (site & site_mask) | (static_cast<std::uint64_t>(where) << 48);
  cached_site& entry = recent_[(key * 0x9e37'79b9'7f4a'7c15) >> 54];
  if (entry.key == key) return entry;
  if (entry.counts) sites_[entry.key] = entry;
  const auto known = sites_.find(key);
  if (known != sites_.end()) return entry = known->second;
  entry = {};
  entry.key = key;
  entry.counts = &counts_.sites[{where, site & site_mask}];
  entry.begins = block_at(site_pc(site));
  return entry;
}

void observer::instruction(std::uint64_t site, std::span<const std::uintptr_t> addresses,
                           std::span<const std::uint8_t> lanes, const warp_position& where) {
  const operation op = site_operation(site);
  if (op >= operation::local) {
    const cached_site& entry = cached(space::none, site);
    enter_basic_block(entry, where);
    site_counts& counts = *entry.counts;
    ++counts.requests;
    counts.lanes += addresses.size();
    if (op == operation::sync) {
      ++block_->syncs[where.first_thread / lanes_per_warp];
      ++counts_.collectives;
    }
    return;
  }
  const auto is_shared = [this](std::uintptr_t a) { return a - shared_begin_ < shared_bytes_; };
  counts_.accesses += addresses.size();
  std::size_t in_shared = 0;
  for (std::uintptr_t a : addresses) in_shared += is_shared(a);
  if (in_shared == 0) return global(site, addresses, lanes, where);
  if (in_shared == addresses.size()) return shared(site, addresses, lanes, where);
  for (const bool want : {false, true}) {  // a generic pointer, here to one and there to the other
    std::vector<std::uintptr_t> a;
    std::vector<std::uint8_t> l;
    for (std::size_t i = 0; i < addresses.size(); ++i)
      if (is_shared(addresses[i]) == want) {
        a.push_back(addresses[i]);
        l.push_back(lanes[i]);
      }
    want ? shared(site, a, l, where) : global(site, a, l, where);
  }
}

// ---- global memory --------------------------------------------------------------------------------------------------

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

/// A load and a store of the same word, by different blocks of a launch or by launches that nothing orders. Atomics
/// order themselves.
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

/// Did the warp make this request before, since the last barrier?
bool observer::is_again(cached_site& entry, const warp_position& where) const {
  const bool again = entry.epoch == block_->epoch && entry.warp == where.first_thread;
  entry.epoch = block_->epoch;
  entry.warp = where.first_thread;
  return again;
}

/// How long the warp waits for this load, as far as that is seen from outside.
void observer::note_load(cached_site& entry, std::span<const std::uintptr_t> a, std::uintptr_t low, bool near,
                         const warp_position& where) {
  warp_path& path = path_of(where);
  const bool again = is_again(entry, where);
  const bool stored = std::exchange(entry.stores, stores_) != stores_;
  const std::uintptr_t stride = low - std::exchange(entry.last, low);
  const bool goes_on = again && entry.stride == stride;
  entry.stride = again ? stride : 0;
  if (goes_on && !stored) {
    if (stride == 0) return;  // kept in a register, or it waits for another thread
    // nvcc puts turns together where it knows the step and no store lies between.
    if (basic_block_ && basic_block_->counted) {
      ++(near ? path.loads_ahead_near : path.loads_ahead);
      return;
    }
  }
  const bool first = std::exchange(first_load_, false);
  const bool even = a.size() < 8 || a[7] - a[0] == 7 * (a[1] - a[0]);  // else the address has been loaded, too
  const bool waits = first || !even || goes_on || (again && stored);
  ++(waits ? near ? path.loads_near : path.loads : path.loads_beside);
}

/// Warps of a block run one after another here and together on a GPU. So what counts is how far a warp has come since
/// it, or another warp at that point of its own way, loaded the sector.
bool observer::note_reuse(std::uintptr_t line, std::uint8_t sectors, std::uint32_t now) {
  recent_line& entry = recent_lines_[(line * 0x9e37'79b9'7f4a'7c15) >> 52];
  if (entry.line != line || entry.block != block_->number) {
    entry = {line, block_->number, now, sectors};
    return false;
  }
  const std::uint8_t known = entry.sectors & sectors;
  const auto distance = static_cast<unsigned>(std::bit_width(now > entry.at ? now - entry.at : entry.at - now));
  if (known != 0)
    counts_.reuse[std::min<std::size_t>(distance, counts_.reuse.size() - 1)] +=
        static_cast<unsigned>(std::popcount(known));
  entry.sectors |= sectors;
  entry.at = now;
  return known == sectors && distance <= near_distance;
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

/// The slow, thorough way: bounds and initialisation of one lane's access.
void observer::global_lane(std::uint64_t site, std::uintptr_t address, std::uint8_t lane, const warp_position& where) {
  if (address - heap_base >= heap_bytes) return;  // a __device__ variable
  const std::size_t bytes = site_bytes(site);
  const operation op = site_operation(site);
  const allocation* entry = find_allocation(address);
  if (!entry || address + bytes > entry->end) {
    bool freed = false;
    nearest_allocation(address, &freed);
    report(freed ? fault::use_after_free : fault::out_of_bounds, site, space::global, where, lane, address);
    return;
  }
  std::uint8_t* valid = shadow().valid;
  for (std::uintptr_t b = address - heap_base; b < address - heap_base + bytes; ++b) {
    const auto bit = static_cast<std::uint8_t>(1u << (b % word_bytes));
    // Blocks that are not observed leave no mark where they write.
    if (op != operation::store && sampling() == 1 &&
        !(__atomic_load_n(valid + b / word_bytes, __ATOMIC_RELAXED) & bit)) {
      report(fault::uninitialised, site, space::global, where, lane, address);
      return;
    }
    if (op != operation::load) __atomic_fetch_or(valid + b / word_bytes, bit, __ATOMIC_RELAXED);
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
  struct touched_sector {
    std::uintptr_t sector;
    std::uint8_t words;
  } sectors[lanes_per_warp + 1];
  std::size_t count = 0, different = a.size();
  const auto add = [&](std::uintptr_t begin, std::uintptr_t end) {  // within one sector
    const std::uintptr_t s = begin / sector_bytes;
    if (count == 0 || s != sectors[count - 1].sector) sectors[count++] = {s, 0};
    if (bytes < word_bytes) return;  // which bytes of a word is not kept: no conflict is looked for
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
  counts.bytes += different * bytes;
  counts.ideal_sectors += std::min(count, (a.size() * bytes + sector_bytes - 1) / sector_bytes);

  if (low < entry.begin || high > entry.end) {
    const allocation* home = find_allocation(low);
    if (!home || high > home->end) {
      for (std::size_t i = 0; i < a.size(); ++i) global_lane(site, a[i], lanes[i], where);
      return;
    }
    entry.begin = home->begin;
    entry.end = home->end;
  }

  if (op == operation::load) {
    std::uint32_t& now = block_->lines[where.first_thread / lanes_per_warp];
    if (sectors[0].sector / 4 != entry.last / (4 * sector_bytes)) now += static_cast<std::uint32_t>(lines);
    bool near = true;
    for (std::size_t i = 0; i < count;) {
      const std::uintptr_t line = sectors[i].sector / 4;
      unsigned in_line = 0;
      for (; i < count && sectors[i].sector / 4 == line; ++i) in_line |= 1u << (sectors[i].sector % 4);
      near &= note_reuse(line, static_cast<std::uint8_t>(in_line), now);
    }
    note_load(entry, a, low, near, where);
  } else if (op == operation::store) {
    ++stores_;
  } else {
    // Again at the same address: most likely it waits for another thread.
    const bool waits = is_again(entry, where) && entry.last == low;
    path_of(where).atomics += !waits;
    entry.last = low;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uintptr_t s = sectors[i].sector - heap_base / sector_bytes;
    const conflict found = use_sector(s, sectors[i].words, op, static_cast<std::uint32_t>(where.block));
    if (found.words != 0) report_conflict(found, s, site, a, lanes, where);
  }

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

// ---- shared memory --------------------------------------------------------------------------------------------------

/// Makes `entry` that of the array which holds the access; false where none does.
bool observer::enter_array(cached_site& entry, std::uintptr_t address, std::size_t bytes) {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const std::uintptr_t begin = thread_pointer_ + static_cast<std::uintptr_t>(arrays_[i].offset);
    if (address < begin || address + bytes > begin + arrays_[i].bytes) continue;
    entry.begin = begin;
    entry.end = begin + arrays_[i].bytes;
    entry.first_word = first_word_[i];
    touched_[i] = 1;
    return true;
  }
  return false;
}

/// Was this word touched by another thread since the last barrier?
void observer::check_shared(std::uint64_t site, shared_word& w, std::uint8_t bytes, std::uint16_t thread,
                            std::uintptr_t address, const warp_position& where) {
  const operation op = site_operation(site);
  const std::uint32_t epoch = block_->epoch, sync = block_->syncs[thread / lanes_per_warp];
  const auto same_warp = [&](std::uint16_t other) { return other / lanes_per_warp == thread / lanes_per_warp; };
  const auto pc = static_cast<std::uint32_t>(site);
  constexpr std::uint64_t copy_bits = static_cast<std::uint64_t>(operation::copy) << 40;
  const auto race = [&](std::uint32_t other_pc, std::uint16_t other, operation other_op, bool not_awaited = false) {
    fault_report r;
    r.what = fault::shared_race;
    r.site = site & site_mask;
    if (op == operation::copied) r.site = (r.site & ~(std::uint64_t{0x7f} << 40)) | copy_bits;  // seen at both ends
    r.where = space::shared;
    r.block = where.block;
    r.thread = thread;
    r.address = address;
    r.other_site = other_pc | (std::uint64_t{4} << 32) | (static_cast<std::uint64_t>(other_op) << 40);
    r.other_thread = other;
    r.detail = not_awaited ? "copy" : same_warp(other) ? "warp" : "";
    counts_.add(r);
  };
  // A copy on its way may write at any moment until it has been waited for.
  if ((w.copy_bytes & bytes) != 0 && w.copy_site != pc)
    race(w.copy_site, w.copier, operation::copy, w.copier == thread || w.copy_epoch != epoch);
  const bool written = w.write_epoch == epoch && w.writer != thread && (w.write_bytes & bytes) != 0 &&
                       !(w.write_atomic && op == operation::atomic) && (!same_warp(w.writer) || w.write_sync == sync);
  if (op == operation::load) {
    if (written) race(w.write_site, w.writer, w.write_atomic ? operation::atomic : operation::store);
    const bool fresh =
        w.read_epoch != epoch || (w.read_by != shared_word::many && same_warp(w.reader) && w.read_sync != sync);
    if (fresh) {
      w.read_epoch = epoch;
      w.read_sync = sync;
      w.read_site = pc;
      w.reader = thread;
      w.read_bytes = bytes;
      w.read_by = shared_word::one;
      return;
    }
    w.read_bytes |= bytes;
    if (w.reader == thread || w.read_by == shared_word::many) return;
    w.read_by = same_warp(w.reader) ? shared_word::one_warp : shared_word::many;
    return;
  }
  // The same instruction in several threads: one of them wins, whichever.
  if (written && w.write_site != pc)
    race(w.write_site, w.writer, w.write_atomic ? operation::atomic : operation::store);
  if (w.read_epoch == epoch && (w.read_bytes & bytes) != 0) {
    const bool by_others = w.read_by == shared_word::many || !same_warp(w.reader) ||
                           (w.read_sync == sync && (w.read_by == shared_word::one_warp || w.reader != thread));
    if (by_others) race(w.read_site, w.reader, operation::load);
  }
  if (op == operation::copy) {
    w.copy_bytes |= bytes;
    w.copier = thread;
    w.copy_epoch = epoch;
    w.copy_site = pc;
    return;
  }
  if (w.copier == thread && w.copy_site == pc) w.copy_bytes &= static_cast<std::uint8_t>(~bytes);
  if (w.write_epoch == epoch && w.writer == thread && w.write_atomic == (op == operation::atomic)) {
    w.write_bytes |= bytes;
  } else {
    w.write_bytes = bytes;
  }
  w.write_epoch = epoch;
  w.write_sync = sync;
  w.write_site = pc;
  w.writer = thread;
  w.write_atomic = op == operation::atomic;
}

void observer::shared(std::uint64_t site, std::span<const std::uintptr_t> a, std::span<const std::uint8_t> lanes,
                      const warp_position& where) {
  // The compiler's own access, and in vain: begin_block has set the guard.
  if (std::find(guards_.begin(), guards_.end(), a[0]) != guards_.end()) return;
  const std::size_t bytes = site_bytes(site);
  const operation op = site_operation(site);
  cached_site& entry = cached(space::shared, site);
  enter_basic_block(entry, where);
  site_counts& counts = *entry.counts;
  ++counts.requests;
  counts.lanes += a.size();
  if (op != operation::copy) {
    const shared_cost cost = shared_wavefronts(a, lanes, bytes);
    counts.bytes += cost.bytes;
    counts.wavefronts += cost.wavefronts;
    counts.ideal_wavefronts += cost.ideal;
  }

  for (std::size_t i = 0; i < a.size(); ++i) {
    if ((a[i] < entry.begin || a[i] + bytes > entry.end) && !enter_array(entry, a[i], bytes)) {
      const std::uintptr_t at = a[i] - dynamic_.begin;
      report(fault::out_of_bounds, site, space::shared, where, lanes[i], a[i] - shared_begin_,
             at < dynamic_.most ? fmt::format(", byte {} of dynamic shared memory, for which the launch asks {} bytes "
                                              "(the third argument between <<< and >>>)",
                                              at, dynamic_.bytes)
                                : "");
      continue;
    }
    const auto thread = static_cast<std::uint16_t>(where.first_thread + lanes[i]);
    const std::uintptr_t offset = a[i] - entry.begin;
    bool initialised = true;
    for (std::uintptr_t b = offset; b < offset + bytes;) {
      const std::size_t word = entry.first_word + b / word_bytes;
      const std::size_t in_word = b % word_bytes, n = std::min(word_bytes - in_word, offset + bytes - b);
      const auto mask = static_cast<std::uint8_t>(((1u << n) - 1) << in_word);
      std::uint8_t& valid = block_->valid[word];
      const bool reads = op == operation::load || op == operation::atomic;
      initialised &= !reads || (valid & mask) == mask;
      if (op != operation::load && op != operation::copy) valid |= mask;
      check_shared(site, block_->words[word], mask, thread, offset, where);
      b += n;
    }
    if (!initialised)
      report(fault::uninitialised, site, space::shared, where, lanes[i], offset, copy_pending(a[i]) ? "copy" : "");
  }
}

}  // namespace sim
