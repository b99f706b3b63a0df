// The memory that bulk copies and warpgroup products access: sectors of global memory, and words of shared memory,
// which they may read or write at any time until a thread has waited for them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "devices.hpp"
#include "grid.hpp"
#include "observer.hpp"

namespace sim {
namespace {

constexpr std::uint8_t whole_word = 0xf;
constexpr std::uint16_t outside = 0xffff;  ///< no thread of the block

std::uint64_t site_with(std::uint64_t site, operation op) {
  return (site & ~(std::uint64_t{0xff} << 40) & site_mask) | static_cast<std::uint64_t>(op) << 40;
}

}  // namespace

std::uintptr_t observer::keep(bulk_access access) {
  if (kept_free_.empty()) {
    kept_.push_back(std::move(access));
    return kept_.size() - 1;
  }
  const std::uintptr_t number = kept_free_.back();
  kept_free_.pop_back();
  kept_[number] = std::move(access);
  return number;
}

observer::word_range observer::words_at(std::uintptr_t address, std::size_t bytes) {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const std::uintptr_t begin = thread_pointer_ + static_cast<std::uintptr_t>(arrays_[i].offset);
    if (address < begin || address + bytes > begin + arrays_[i].bytes) continue;
    touched_[i] = 1;
    return {first_word_[i] + (address - begin) / word_bytes, begin, true};
  }
  return {};
}

void observer::bulk(std::uint64_t site, const bulk_access& access, std::uint8_t lane, const warp_position& where) {
  if (access.rows && access.rows->data.empty()) bulk_global(site, access, lane, where);
  if (access.what != bulk_access::arrives) return bulk_read(site, access, lane, where);
  for (const bulk_access::range& r : access.shared) {
    const word_range words = words_at(r.begin, r.bytes);
    const std::uint64_t copy = site_with(site, operation::copy) | std::uint64_t{word_bytes} << 32;
    if (!words.found) {
      report(fault::out_of_bounds, copy, space::shared, where, lane, r.begin - shared_begin_);
      continue;
    }
    const auto thread = static_cast<std::uint16_t>(where.first_thread + lane);
    for (std::size_t i = 0; i < r.bytes / word_bytes; ++i)
      check_shared(copy, words.first + i, whole_word, thread, r.begin - words.begin + i * word_bytes, where);
    for (std::size_t i = 0; i < r.bytes / word_bytes; ++i)
      block_->copies[words.first + i].epoch = 0;  // the issuing thread may never wait for it
  }
}

/// Counts sectors as L2 does, and the bytes that leave shared memory or arrive there, in each block, including the
/// fill outside the tensor.
void observer::bulk_global(std::uint64_t site, const bulk_access& access, std::uint8_t lane,
                           const warp_position& where) {
  const bulk_rows& rows = *access.rows;
  const bool stores = access.what == bulk_access::leaves;
  const std::uint64_t counted = site_with(site, access.reduces ? operation::bulk_reduce
                                                : stores       ? operation::bulk_store
                                                               : operation::bulk_load);
  const operation op = stores ? operation::store : operation::load;
  const std::uint64_t plain = site_with(site, op) | std::uint64_t{16} << 32;
  site_counts& counts = counts_.sites[{space::global, counted}];
  ++counts.requests;
  ++counts.lanes;
  counts.bytes += stores ? rows.existing_bytes() : std::uint64_t{rows.bytes()} * access.targets;
  const allocation* home = nullptr;
  std::pair<const allocation*, allocation_counts*> counted_in{};
  bool initialised = true;
  std::uintptr_t last_sector = 0;
  for (const bulk_rows::row& row : rows.rows) {
    if (row.bytes == 0) continue;
    const std::uintptr_t begin = row.global, end = begin + row.bytes;
    if (begin - heap_base >= heap_bytes) continue;  // a __device__ variable
    if (!home || begin < home->begin || begin >= home->end) home = find_allocation(begin);
    if (!home || end > home->end) {
      bool freed = false;
      const std::uintptr_t from = home ? home->end : begin;
      nearest_allocation(from, &freed);
      freed = freed && !freed_in_earlier_call(from);
      report(freed ? fault::use_after_free : fault::out_of_bounds, plain, space::global, where, lane, from);
      return;
    }
    if (const int device = current_device(); !may_access(device, *home)) {
      report(fault::other_device, plain, space::global, where, lane, begin, why_not(device, *home));
      return;
    }
    if (home != counted_in.first) counted_in = {home, &allocation_counts_of(*home)};
    counted_in.second->add(op, row.bytes);
    counted_in.second->uncounted += row.bytes;
    if (counted_in.second->remote)
      (stores ? counted_in.second->link_stored : counted_in.second->link_loaded) += row.bytes;
    counts.low = std::min(counts.low, begin);
    counts.high = std::max(counts.high, end);
    std::uint8_t* valid = shadow().valid + (begin - heap_base) / word_bytes;
    if (stores)
      mark_valid(begin, row.bytes);
    else if (initialised && sampling() == 1 && !memory_is_partial()) {
      const std::size_t words = (end - begin) / word_bytes;
      const bool all = std::all_of(valid, valid + words, [](std::uint8_t v) { return v == whole_word; }) &&
                       (row.bytes % word_bytes == 0 || is_valid(begin + words * word_bytes, row.bytes % word_bytes));
      if (!all) report(fault::uninitialised, plain, space::global, where, lane, begin);
      initialised = all;
    }
    for (std::uintptr_t s = begin / sector_bytes; s <= (end - 1) / sector_bytes; ++s) {
      const std::uintptr_t first = std::max(begin, s * sector_bytes), last = std::min(end, (s + 1) * sector_bytes) - 1;
      const auto words = static_cast<std::uint8_t>((2u << last % sector_bytes / word_bytes) -
                                                   (1u << first % sector_bytes / word_bytes));
      counts.sectors += s != std::exchange(last_sector, s);
      const std::uintptr_t sector = s - heap_base / sector_bytes;
      const conflict found =
          use_words(shadow().sectors[sector], &shadow().sectors[sector ^ 1], words, make_site(0, 0, op), where);
      const std::uintptr_t address = first;
      if (found.words != 0)
        report_conflict(found, s * sector_bytes, word_bytes, plain, {&address, 1}, {&lane, 1}, where);
    }
  }
  counts.ideal_sectors += (rows.existing_bytes() + sector_bytes - 1) / sector_bytes;
  stores_ += stores;
}

/// The agent may read at any time until a thread has waited, so writers must know the agent's clock.
void observer::bulk_read(std::uint64_t site, const bulk_access& access, std::uint8_t lane, const warp_position& where) {
  block_shadow& shadow = *block_;
  const auto thread = static_cast<std::uint16_t>(where.first_thread + lane);
  const std::uint64_t load = site_with(site, operation::load) | std::uint64_t{16} << 32;
  shadow.asynchronous_reads.resize(shadow.words.size() * shadow.agents.size());
  shadow.agents[access.agent].site = static_cast<std::uint32_t>(site);
  shadow.agents[access.agent].thread = thread;
  bool reported = false;
  // A word that an arrived copy wrote records the thread that issued the copy.
  const auto writer_of = [&](std::size_t word) {
    const std::uint16_t writer = shadow.words[word].writer;
    return writer < shadow.first_agent ? writer : shadow.copies[word].thread;
  };
  const auto report_once = [&](fault what, std::uintptr_t address, party other, std::uint32_t other_site,
                               std::uint16_t other_thread, operation other_op) {
    if (std::exchange(reported, true)) return;
    fault_report r;
    r.what = what;
    r.site = load;
    r.where = space::shared;
    r.block = where.block;
    r.thread = thread;
    r.address = address;
    r.other = other;
    r.other_site = other_site | std::uint64_t{4} << 32 | static_cast<std::uint64_t>(other_op) << 40;
    r.other_thread = other_thread == outside ? 0 : other_thread;
    counts_.add(r);
  };
  std::uint32_t known_clock = ~std::uint32_t{0};  // the last ordered writer's
  std::uint16_t known_writer = 0;
  for (const bulk_access::range& r : access.shared) {
    const word_range words = words_at(r.begin, r.bytes);
    if (!words.found) {
      report_once(fault::out_of_bounds, r.begin - shared_begin_, party::thread, 0, 0, operation::load);
      continue;
    }
    for (std::size_t i = 0; i < r.bytes / word_bytes; ++i) {
      const std::size_t word = words.first + i;
      const shared_word& w = shadow.words[word];
      shadow.asynchronous_reads[word * shadow.agents.size() + access.agent] = access.clock + 1;
      const std::uintptr_t address = r.begin - words.begin + i * word_bytes;
      if (w.copy_bytes != 0) {
        const started_copy& copy = shadow.copies[word];
        report_once(fault::block_race, address, party::copy, copy.site, copy.thread, operation::copy);
      } else if (shadow.valid[word] != whole_word) {
        report_once(fault::uninitialised, address, party::thread, 0, 0, operation::load);
      } else if (w.write_epoch == shadow.epoch && w.writer != thread &&
                 (w.writer != known_writer || w.write_clock > known_clock || known_clock == ~std::uint32_t{0})) {
        const bool same_warp = w.writer / lanes_per_warp == thread / lanes_per_warp;
        if ((same_warp && w.write_sync != shadow.syncs[thread / lanes_per_warp]) ||
            shadow.order.ordered(w.writer, w.write_clock, thread)) {
          known_writer = w.writer;
          known_clock = w.write_clock;
        } else {
          report_once(fault::block_race, address, same_warp ? party::thread_of_warp : party::thread, w.write_site,
                      writer_of(word), operation::store);
        }
      }
    }
  }
}

/// Whether the thread writes memory that a copy or a product may still read.
void observer::check_asynchronous_readers(std::uint64_t site, std::size_t word, std::uint16_t thread,
                                          std::uintptr_t address, const warp_position& where) {
  const block_shadow& shadow = *block_;
  if (site_operation(site) == operation::copied) return;
  for (std::size_t i = 0; i < shadow.agents.size(); ++i) {
    const asynchronous_agent& agent = shadow.agents[i];
    const std::uint32_t after = shadow.asynchronous_reads[word * shadow.agents.size() + i];
    const bool before_barrier = after - 1 < std::min(agent.first_clock, agent.awaited);
    if (after == 0 || before_barrier || shadow.order.ordered(shadow.first_agent + i, after - 1, thread)) continue;
    fault_report r;
    r.what = fault::block_race;
    r.site = site & site_mask;
    r.where = space::shared;
    r.block = where.block;
    r.thread = thread;
    r.address = address;
    r.other_site = agent.site | std::uint64_t{16} << 32 | static_cast<std::uint64_t>(operation::load) << 40;
    r.other_thread = agent.thread;
    r.other = i + 1 == shadow.agents.size() ? party::reading_copy : party::reading_product;
    counts_.add(r);
    return;
  }
}

// ---- called while threads run, with all records merged

void observer::copy_arrived(block_shadow& shadow, const arriving_copy& copy) {
  const word_range words = words_at(reinterpret_cast<std::uintptr_t>(copy.to), copy.rows->bytes());
  if (!words.found) return;  // reported when the copy began
  const auto pc = static_cast<std::uint32_t>(make_site(copy.pc, 0, operation::copy));
  const auto agent = static_cast<std::uint16_t>(shadow.copying_agent());
  const std::uint32_t clock = shadow.order.latest(agent);
  for (std::size_t i = words.first; i < words.first + copy.rows->bytes() / word_bytes; ++i) {
    shared_word& w = shadow.words[i];
    if (w.copy_bytes != 0 && shadow.copies[i].site == pc) {
      w.copy_bytes = 0;
      counts_.copied_beside_loads += shadow.arrives(i);
    }
    w.write_epoch = shadow.epoch;
    w.write_site = pc;
    w.write_clock = clock;
    w.writer = agent;
    w.write_bytes = whole_word;
    w.write_strength = strength::plain;
    shadow.valid[i] = whole_word;
  }
}

void observer::copy_begins_outside(block_shadow& shadow, const char* to, std::size_t bytes, std::uintptr_t pc) {
  const word_range words = words_at(reinterpret_cast<std::uintptr_t>(to), bytes);
  if (!words.found) return;
  shadow.copies.resize(shadow.words.size());
  for (std::size_t i = words.first; i < words.first + bytes / word_bytes; ++i) {
    shadow.words_awaited += shadow.words[i].copy_bytes == 0;
    counts_.words_copied += shadow.words[i].copy_bytes == 0;
    shadow.words[i].copy_bytes = whole_word;
    shadow.copies[i] = {outside, shadow.epoch, static_cast<std::uint32_t>(make_site(pc, 0, operation::copy)),
                        shadow.words_loaded};
  }
}

bool observer::remote_access(block_shadow& shadow, std::uintptr_t address, std::size_t bytes, bool reads, bool writes,
                             bool* initialised) {
  const word_range words = words_at(address, bytes);
  if (!words.found) return false;
  std::size_t word = words.first;
  for (std::uintptr_t b = address; b < address + bytes;) {
    const std::size_t in_word = (b - words.begin) % word_bytes;
    const std::size_t n = std::min<std::size_t>(word_bytes - in_word, address + bytes - b);
    const auto mask = static_cast<std::uint8_t>(((1u << n) - 1) << in_word);
    if (reads && (shadow.valid[word] & mask) != mask) *initialised = false;
    if (writes) shadow.valid[word] |= mask;
    b += n;
    ++word;
  }
  return true;
}

}  // namespace sim
