#include "observer.hpp"

#include <algorithm>
#include <cstring>

namespace sim {

void site_counts::add(const site_counts& o) {
  requests += o.requests;
  lanes += o.lanes;
  bytes += o.bytes;
  sectors += o.sectors;
  ideal_sectors += o.ideal_sectors;
  wavefronts += o.wavefronts;
  ideal_wavefronts += o.ideal_wavefronts;
}

void launch_counts::add(const fault_report& report) {
  auto [entry, fresh] = faults.try_emplace({report.what, report.site}, report);
  if (fresh) return;
  const std::uint64_t occurrences = entry->second.occurrences + report.occurrences;
  if (std::pair{report.block, report.thread} < std::pair{entry->second.block, entry->second.thread})
    entry->second = report;
  entry->second.occurrences = occurrences;
}

void launch_counts::add(const launch_counts& o) {
  for (const auto& [key, counts] : o.sites) sites[key].add(counts);
  for (const auto& [key, report] : o.faults) add(report);
  unique_loaded_sectors += o.unique_loaded_sectors;
  unique_stored_sectors += o.unique_stored_sectors;
  barriers += o.barriers;
  collectives += o.collectives;
  accesses += o.accesses;
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

void observer::begin_launch(std::uint8_t epoch, std::uintptr_t thread_pointer, std::size_t dynamic_shared_bytes) {
  epoch_ = epoch;
  thread_pointer_ = thread_pointer;
  shared_begin_ = thread_pointer + static_cast<std::uintptr_t>(thread_storage_offset());
  arrays_ = shared_arrays();
  for (shared_array& array : arrays_)
    if (array.dynamic) array.bytes = std::min(array.bytes, dynamic_shared_bytes);
  guards_.clear();
  for (const shared_array& array : arrays_)
    if (array.guard) guards_.push_back(thread_pointer + static_cast<std::uintptr_t>(array.offset));
  touched_.assign(arrays_.size(), 0);
  shared_valid_.resize(thread_storage_bytes() / word_bytes + 1);
  for (auto& cache : cache_) cache.clear();
  last_[0] = last_[1] = nullptr;
}

void observer::begin_block() {
  for (const shared_array& array : arrays_) {
    const std::uintptr_t begin = thread_pointer_ + static_cast<std::uintptr_t>(array.offset);
    std::memset(reinterpret_cast<void*>(begin), 0xFF, array.bytes);
    const std::size_t first = (begin - shared_begin_) / word_bytes;
    std::memset(shared_valid_.data() + first, 0, (array.bytes + word_bytes - 1) / word_bytes);
  }
}

std::size_t observer::static_shared_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < arrays_.size(); ++i)
    if (touched_[i] && !arrays_[i].dynamic) bytes += arrays_[i].bytes;
  return bytes;
}

launch_counts observer::take() {
  for (auto& cache : cache_) cache.clear();
  last_[0] = last_[1] = nullptr;
  return std::exchange(counts_, {});
}

void observer::report(fault what, std::uint64_t site, space where, const warp_position& position, std::uint32_t lane,
                      std::uintptr_t address, std::string detail) {
  counts_.add(
      fault_report{what, site, where, position.block, position.first_thread + lane, address, std::move(detail), 1});
}

observer::cached_site& observer::cached(space where, std::uint64_t site) {
  const auto s = static_cast<std::size_t>(where);
  if (last_[s] && last_key_[s] == site) return *last_[s];
  cached_site& entry = cache_[s][site];
  if (!entry.counts) entry.counts = &counts_.sites[{where, site}];
  last_key_[s] = site;
  last_[s] = &entry;
  return entry;
}

void observer::instruction(std::uint64_t site, std::span<const std::uintptr_t> addresses,
                           std::span<const std::uint8_t> lanes, const warp_position& where) {
  const auto is_shared = [this](std::uintptr_t a) { return a - shared_begin_ < thread_storage_bytes(); };
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

void observer::touch_sectors(std::uintptr_t first, std::uintptr_t last, bool load, bool store) {
  const auto touch = [&](std::uint8_t* epochs, std::uint64_t& unique) {
    for (std::uintptr_t s = first; s <= last; ++s)
      if (__atomic_load_n(epochs + s, __ATOMIC_RELAXED) != epoch_ &&
          __atomic_exchange_n(epochs + s, epoch_, __ATOMIC_RELAXED) != epoch_)
        ++unique;
  };
  if (load) touch(shadow().loaded_epoch, counts_.unique_loaded_sectors);
  if (store) touch(shadow().stored_epoch, counts_.unique_stored_sectors);
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
    if (op != operation::store && !(__atomic_load_n(valid + b / word_bytes, __ATOMIC_RELAXED) & bit)) {
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
  const bool row = consecutive(a, bytes);
  std::uintptr_t sectors[lanes_per_warp];
  std::size_t count = 0, different = a.size();
  if (row) {
    count = (high - 1) / sector_bytes - low / sector_bytes + 1;
  } else {
    std::uintptr_t sorted[lanes_per_warp];
    std::copy(a.begin(), a.end(), sorted);
    different = distinct({sorted, a.size()});
    for (std::size_t i = 0; i < different; ++i)
      if (const std::uintptr_t s = sorted[i] / sector_bytes; i == 0 || s != sectors[count - 1]) sectors[count++] = s;
  }
  counts.sectors += count;
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

  if (row)
    touch_sectors((low - heap_base) / sector_bytes, (high - 1 - heap_base) / sector_bytes, op != operation::store,
                  op != operation::load);
  else
    for (std::size_t i = 0; i < count; ++i) {
      const std::uintptr_t s = sectors[i] - heap_base / sector_bytes;
      touch_sectors(s, s, op != operation::store, op != operation::load);
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

void observer::shared(std::uint64_t site, std::span<const std::uintptr_t> a, std::span<const std::uint8_t> lanes,
                      const warp_position& where) {
  // The compiler's own access, and in vain: begin_block has set the guard.
  if (std::find(guards_.begin(), guards_.end(), a[0]) != guards_.end()) return;
  const std::size_t bytes = site_bytes(site);
  const operation op = site_operation(site);
  cached_site& entry = cached(space::shared, site);
  site_counts& counts = *entry.counts;
  ++counts.requests;
  counts.lanes += a.size();
  const shared_cost cost = shared_wavefronts(a, lanes, bytes);
  counts.bytes += cost.bytes;
  counts.wavefronts += cost.wavefronts;
  counts.ideal_wavefronts += cost.ideal;

  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] < entry.begin || a[i] + bytes > entry.end) {
      const auto home = std::find_if(arrays_.begin(), arrays_.end(), [&](const shared_array& array) {
        const std::uintptr_t begin = thread_pointer_ + static_cast<std::uintptr_t>(array.offset);
        return begin <= a[i] && a[i] + bytes <= begin + array.bytes;
      });
      if (home == arrays_.end()) {
        report(fault::out_of_bounds, site, space::shared, where, lanes[i], a[i] - shared_begin_);
        continue;
      }
      entry.begin = thread_pointer_ + static_cast<std::uintptr_t>(home->offset);
      entry.end = entry.begin + home->bytes;
      touched_[static_cast<std::size_t>(home - arrays_.begin())] = 1;
    }
    for (std::uintptr_t b = a[i] - shared_begin_; b < a[i] - shared_begin_ + bytes;) {
      std::uint8_t& valid = shared_valid_[b / word_bytes];
      const bool word = b % word_bytes == 0 && b + word_bytes <= a[i] - shared_begin_ + bytes;
      const auto mask = static_cast<std::uint8_t>(word ? 0x0F : 1u << (b % word_bytes));
      if (op != operation::store && (valid & mask) != mask) {
        report(fault::uninitialised, site, space::shared, where, lanes[i], a[i] - entry.begin);
        break;
      }
      if (op != operation::load) valid |= mask;
      b += word ? word_bytes : 1;
    }
  }
}

}  // namespace sim
