// The observer at launches, blocks and barriers, and the memory that a warp instruction accesses.
#include "observer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "addresses.hpp"
#include "model.hpp"

namespace sim {

void observer::begin_launch(std::uint16_t epoch, std::uintptr_t thread_pointer, const configuration& config,
                            const overlapping& others) {
  epoch_ = epoch;
  others_ = others;
  near_distance_ = std::max(7U, static_cast<unsigned>(std::bit_width(l1_lines_of_a_warp(config))));
  thread_pointer_ = thread_pointer;
  shared_begin_ = thread_pointer + static_cast<std::uintptr_t>(thread_storage_offset());
  shared_bytes_ = thread_storage_bytes();
  arrays_ = shared_arrays();
  first_word_.clear();
  words_ = 0;
  for (shared_array& array : arrays_) {
    if (array.dynamic) {
      dynamic_ = {thread_pointer + static_cast<std::uintptr_t>(array.offset), array.bytes, config.dynamic_shared_bytes};
      array.bytes = std::min(array.bytes, config.dynamic_shared_bytes);
    }
    first_word_.push_back(words_);
    words_ += array.bytes / word_bytes + 1;
  }
  guards_.clear();
  for (const shared_array& array : arrays_)
    if (array.guard) guards_.push_back(thread_pointer + static_cast<std::uintptr_t>(array.offset));
  touched_.assign(arrays_.size(), 0);
  kept_.clear();
  kept_free_.clear();
}

void observer::begin_block(block_shadow& shadow, std::size_t threads) {
  const std::size_t warps = (threads + lanes_per_warp - 1) / lanes_per_warp;
  block_ = &shadow;
  shadow.valid.assign(words_, 0);
  shadow.words.resize(words_);
  shadow.words_awaited = 0;
  if (!shadow.copies.empty())  // the previous block never waited for these copies: they ended with it
    for (auto& word : shadow.words) word.copy_bytes = 0;
  if (!shadow.byte_reads.empty()) shadow.byte_reads.resize(words_ * word_bytes);
  shadow.syncs.resize(warps);
  shadow.waited = 0;
  shadow.next_may_begin = false;
  shadow.paths.assign(warps, {});
  shadow.path = {};
  shadow.lines.assign(warps, 0);
  shadow.number = ++block_numbers_;
  for (const shared_array& array : arrays_)
    std::memset(reinterpret_cast<void*>(thread_pointer_ + static_cast<std::uintptr_t>(array.offset)), 0xFF,
                array.bytes);
  shadow.agents.clear();
  new_epoch(shadow);
  accesses_.begin_block();
  shadow.first_agent = threads;
  shadow.agents.assign(threads / threads_per_warpgroup + 1, {});
  shadow.asynchronous_reads.clear();
  shadow.order.begin_block(threads + shadow.agents.size());
}

void observer::end_phase() {
  warp_path longest;
  for (warp_path& warp : block_->paths) longest.take_longer(std::exchange(warp, {}));
  block_->path.add(longest);
}

void observer::barrier() {
  end_phase();
  ++shared_changes_;
  ++block_->path.barriers;
  new_epoch(*block_);
}

void observer::end_block() {
  end_phase();
  counts_.path.add(block_->path);
  counts_.longest.take_longer(block_->path);
  counts_.waits_for_kernel_before |= block_->waited != 0;
  counts_.next_begins_after_wait |= block_->waited != 0 && !block_->next_may_begin;
}

std::size_t observer::static_shared_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < arrays_.size(); ++i)
    if (touched_[i] && !arrays_[i].dynamic) bytes += arrays_[i].bytes;
  return bytes;
}

launch_counts observer::take() {
  for (shared_run& run : runs_) join(std::exchange(run, {}));
  sites_.clear();
  for (cached_site& entry : recent_) entry = {};
  return std::exchange(counts_, {});
}

void observer::report(fault what, std::uint64_t site, space where, const warp_position& position, std::uint32_t lane,
                      std::uintptr_t address, std::string detail, party other) {
  fault_report r;
  r.what = what;
  r.site = site & site_mask;
  r.where = where;
  r.block = position.block;
  r.thread = position.first_thread + lane;
  r.address = address;
  r.detail = std::move(detail);
  r.other = other;
  counts_.add(r);
  // More than this is an endless loop. A GPU ends it at the first access outside the program's memory.
  constexpr std::uint64_t most_beyond = 1'000'000;
  if (what == fault::out_of_bounds || what == fault::use_after_free)
    counts_.ran_away |= ++counts_.beyond >= most_beyond;
}

/// Refills the entry for another site.
observer::cached_site& observer::look_up(cached_site& entry, std::uint64_t key, space where, std::uint64_t site) {
  if (entry.counts) sites_[entry.key] = entry;
  const auto known = sites_.find(key);
  if (known != sites_.end()) return entry = known->second;
  entry = {};
  entry.key = key;
  entry.counts = &counts_.sites[{where, site & site_mask}];
  entry.begins = block_at(site_pc(site));
  entry.at_mbarrier = mbarrier_accesses_.contains(site_pc(site));
  return entry;
}

namespace {
/// As on an H200, counts sectors as in global memory.
void count_remote(site_counts& counts, std::uint64_t site, std::span<const std::uintptr_t> addresses) {
  std::uintptr_t sorted[lanes_per_warp];
  std::copy(addresses.begin(), addresses.end(), sorted);
  counts.bytes += distinct({sorted, addresses.size()}) * site_bytes(site);
  for (std::size_t i = 0; i < addresses.size(); ++i) sorted[i] = addresses[i] / sector_bytes;
  counts.sectors += distinct({sorted, addresses.size()});
  counts.ideal_sectors += (addresses.size() * site_bytes(site) + sector_bytes - 1) / sector_bytes;
}
}  // namespace

void observer::observe(std::uint64_t site, std::span<const std::uintptr_t> addresses,
                       std::span<const std::uint8_t> lanes, const warp_position& where) {
  const operation op = site_operation(site);
  if (op >= operation::local) {
    if (op == operation::bulk) {
      for (std::size_t i = 0; i < addresses.size(); ++i) {
        bulk(site, kept_[addresses[i]], lanes[i], where);
        kept_[addresses[i]] = {};
        kept_free_.push_back(addresses[i]);
      }
      return;
    }
    const cached_site& entry = cached(space::none, site);
    enter_basic_block(entry, where);
    site_counts& counts = *entry.counts;
    ++counts.requests;
    counts.lanes += addresses.size();
    if (op >= operation::remote_load && op <= operation::remote_atomic) count_remote(counts, site, addresses);
    if (op == operation::sync) {
      ++block_->syncs[where.first_thread / lanes_per_warp];
      ++shared_changes_;
      for (const std::uint8_t lane : lanes) block_->order.merge_meeting(where.first_thread + lane);
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
  heads_ = nullptr;                        // the lanes' positions change
  for (const bool want : {false, true}) {  // a generic pointer may point to either
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

}  // namespace sim
