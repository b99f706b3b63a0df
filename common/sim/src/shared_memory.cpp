// Warp instructions on shared memory: wavefronts over the banks, bounds, reads of unwritten memory, and races.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "addresses.hpp"
#include "async.hpp"
#include "observer.hpp"

namespace sim {
namespace {

constexpr std::size_t bank_count = 32;
constexpr std::size_t most_turns_unrolled = 32;  // loops up to this length unroll completely, longer ones by four
constexpr std::uint8_t uneven = 15;              // shared_run::start: the lanes differ
constexpr std::uint8_t whole_word = (1u << word_bytes) - 1;

/// How many passes over the banks one phase's words need: the largest number of distinct words in a bank.
std::size_t bank_passes(std::span<std::uintptr_t> words) {
  const std::size_t count = distinct(words);
  std::uint8_t in_bank[bank_count] = {};
  std::uint8_t most = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, ++in_bank[words[i] % bank_count]);
  return most;
}

/// Whether these are accesses to a flag that threads may make at the same time.
bool harmless(strength a, strength b) {
  return a != strength::plain && b != strength::plain && (a == strength::atomic || b == strength::atomic);
}

}  // namespace

observer::shared_cost observer::cost_of_shared(std::span<const std::uintptr_t> a, std::span<const std::uint8_t> lanes,
                                               std::size_t bytes) {
  const std::size_t together = lanes_per_phase(a, lanes, bytes);
  shared_cost cost;
  std::uintptr_t words[lanes_per_warp * 4];
  std::copy(a.begin(), a.end(), words);
  cost.bytes = distinct({words, a.size()}) * bytes;
  for (std::size_t i = 0; i < a.size();) {
    const std::size_t phase = lanes[i] / together;
    std::size_t count = 0;
    for (; i < a.size() && lanes[i] / together == phase; ++i)
      for (std::uintptr_t w = a[i] / word_bytes; w <= (a[i] + bytes - 1) / word_bytes; ++w) words[count++] = w;
    cost.wavefronts += bank_passes({words, count});
    ++cost.ideal;
  }
  return cost;
}

/// Counts how the loads of these 16 bytes are merged: into one load or two.
void observer::join(const shared_run& run) {
  const std::size_t words = run.bytes / word_bytes, first = run.begin[0] % 16 / word_bytes, length = run.length * words;
  if (run.joined || run.length < 2 || run.start == uneven) return;
  if (length < 4 && !run.one_visit && run.turns > most_turns_unrolled)
    return;                                                       // the remainder of an unrolled loop is not merged
  const bool whole = length == 4 || (length == 3 && first == 1);  // then the merged load includes the previous word
  if (!whole && first % 2 != 0) return;
  const std::size_t joined = whole ? run.length : 2;
  std::array<std::uintptr_t, lanes_per_warp> begin = run.begin;
  if (whole)
    for (std::uintptr_t& a : begin) a = a / 16 * 16;
  const shared_cost cost =
      cost_of_shared({begin.data(), run.lanes_used}, {run.lanes.data(), run.lanes_used}, whole ? 16 : 2 * word_bytes);
  for (std::size_t k = 0; k < joined; ++k) {
    site_counts& c = *run.counts[k];
    c.joined_requests += k > 0;
    c.joined_lanes += k > 0 ? static_cast<std::int64_t>(run.lanes_used) : 0;
    c.joined_wavefronts += static_cast<std::int64_t>(run.costs[k].wavefronts - (k == 0 ? cost.wavefronts : 0));
    c.joined_ideal += static_cast<std::int64_t>(run.costs[k].ideal - (k == 0 ? cost.ideal : 0));
  }
}

void observer::note_run(std::uint64_t site, site_counts& counts, const shared_cost& cost, lane_pattern pattern,
                        std::span<const std::uintptr_t> a, std::span<const std::uint8_t> lanes,
                        const warp_position& where) {
  const bool same = pattern == lane_pattern::same;
  if (!same && a[0] - dynamic_.begin < dynamic_.bytes) return;  // an argument may set its row length
  const std::size_t bytes = site_bytes(site);
  shared_run* run = &runs_[0];
  for (shared_run& r : runs_) {
    if (r.next == a[0]) {
      run = &r;
      break;
    }
    if (r.used < run->used) run = &r;
  }
  const std::uint32_t mask = mask_of(lanes);
  bool goes_on = run->next == a[0] && run->bytes == bytes && run->changes == shared_changes_ &&
                 run->warp == where.first_thread && run->mask == mask &&
                 (run->visit == visits_ ||
                  (basic_block_ && basic_block_->counted && (run->site == site || run->visit + 1 == visits_)));
  for (std::size_t i = 0; goes_on && i < a.size(); ++i) goes_on = a[i] == run->begin[i] + run->length * bytes;
  if (!goes_on) {
    join(*run);
    counts.runs |= site_counts::begins_run;
    run->length = run->turns = 0;
    run->changes = shared_changes_;
    run->warp = where.first_thread;
    run->mask = mask;
    run->bytes = static_cast<std::uint8_t>(bytes);
    const bool even = same || std::ranges::all_of(a, [&](std::uintptr_t x) { return x % 16 == a[0] % 16; });
    run->start = even ? static_cast<std::uint8_t>(1u << (a[0] % 16 / word_bytes)) : uneven;
    run->lanes_used = a.size();
    std::ranges::copy(lanes, run->lanes.begin());
  } else {
    counts.runs |= run->start | (run->visit == visits_ ? site_counts::goes_on_with_run : 0);
    run->counts[0]->runs |= run->start;
    if (run->joined) run->length = 0;
  }
  if (run->length == 0) {
    std::ranges::copy(a, run->begin.begin());
    run->joined = false;
    run->one_visit = true;
  }
  run->one_visit &= run->length == 0 || run->visit == visits_;
  run->visit = visits_;
  run->site = site;
  ++run->turns;
  run->used = ++runs_noted_;
  run->next = a[0] + bytes;
  run->counts[run->length] = &counts;
  run->costs[run->length++] = cost;
  if (run->next % 16 != 0) return;
  join(*run);
  run->joined = true;
}

/// Sets `entry` to the array that contains the access; false if there is none.
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

void shared_reads::note(const shared_read& by_thread) {
  const auto same_warp = reader / lanes_per_warp == by_thread.thread / lanes_per_warp;
  if (epoch != by_thread.epoch || (by != many && same_warp && sync != by_thread.sync)) {
    *this = {by_thread.epoch, by_thread.sync, by_thread.site, by_thread.clock, by_thread.thread, by_thread.thread, one,
             by_thread.how};
    return;
  }
  weakest = std::min(weakest, by_thread.how);
  if (reader == by_thread.thread) return;
  other = by_thread.thread;
  if (by != many) by = same_warp ? one_warp : many;
}

/// Notes a load of whole words with no store since the last barrier and no copy in flight. Otherwise notes nothing and
/// returns false: more must be checked.
bool observer::read_words(cached_site& entry, std::uint64_t site, lane_pattern pattern,
                          std::span<const std::uintptr_t> a, std::span<const std::uint8_t> lanes,
                          const warp_position& where) {
  const std::size_t bytes = site_bytes(site), words = bytes / word_bytes;
  if (bytes % word_bytes != 0 || block_->order.active()) return false;
  const std::uint32_t epoch = block_->epoch;
  const auto clean = [&](std::uintptr_t at, std::size_t length) {
    if (at < entry.begin || at + length > entry.end || (at - entry.begin) % word_bytes != 0) return false;
    const std::size_t first = entry.first_word + (at - entry.begin) / word_bytes;
    bool all = true;
    for (std::size_t w = first; w < first + length / word_bytes; ++w) {
      const shared_word& word = block_->words[w];
      all &= (block_->valid[w] == whole_word) & (word.write_epoch != epoch) & (word.copy_bytes == 0);
    }
    return all;
  };
  const bool same = pattern == lane_pattern::same;
  if (!(same                           ? clean(a[0], bytes)
        : pattern == lane_pattern::row ? clean(a[0], a.size() * bytes)
                                       : std::ranges::all_of(a, [&](std::uintptr_t at) { return clean(at, bytes); })))
    return false;
  shared_read by{.epoch = epoch,
                 .sync = block_->syncs[where.first_thread / lanes_per_warp],
                 .site = static_cast<std::uint32_t>(site),
                 .how = site_strength(site)};
  const auto note = [&](std::size_t i) {
    by.thread = static_cast<std::uint16_t>(where.first_thread + lanes[i]);
    by.clock = block_->order.clock(by.thread);
    shared_word* const first = &block_->words[entry.first_word + (a[i] - entry.begin) / word_bytes];
    for (shared_word* w = first; w != first + words; ++w) w->read.note(by);
  };
  if (same && a.size() > 2) {  // shared_reads keeps two lanes of a warp: the first, and the last that is not the reader
    for (const std::size_t i : {std::size_t{0}, a.size() - 2, a.size() - 1}) note(i);
  } else {
    for (std::size_t i = 0; i < a.size(); ++i) note(i);
  }
  block_->words_loaded += static_cast<std::uint32_t>(words * a.size());
  return true;
}

/// Finds races with threads that have touched this word since the last barrier.
void observer::check_shared(std::uint64_t site, std::size_t word, std::uint8_t bytes, std::uint16_t thread,
                            std::uintptr_t address, const warp_position& where, std::optional<std::size_t> position) {
  shared_word& w = block_->words[word];
  const operation op = site_operation(site);
  const strength how = site_strength(site);
  const block_order& order = block_->order;
  const std::uint32_t epoch = block_->epoch, sync = block_->syncs[thread / lanes_per_warp];
  const auto same_warp = [&](std::uint16_t other) { return other / lanes_per_warp == thread / lanes_per_warp; };
  const auto pc = static_cast<std::uint32_t>(site);
  const auto for_each_byte = [&](const auto& visit) {
    for (std::size_t b = 0; b < word_bytes; ++b)
      if ((bytes >> b) & 1) visit(block_->byte_reads[word * word_bytes + b]);
  };
  constexpr std::uint64_t copy_bits = static_cast<std::uint64_t>(operation::copy) << 40;
  const auto race = [&](std::uint32_t other_pc, std::uint16_t other, operation other_op, strength other_how,
                        bool not_awaited = false) {
    if (harmless(how, other_how)) return;
    fault_report r;
    r.what = fault::block_race;
    r.site = site & site_mask;
    if (op == operation::copied) r.site = (r.site & ~(std::uint64_t{0xff} << 40)) | copy_bits;  // both ends see it
    r.between_flags = how != strength::plain && other_how != strength::plain;
    r.where = space::shared;
    r.block = where.block;
    r.thread = thread;
    r.address = address;
    r.other_site = other_pc | (std::uint64_t{4} << 32) | (static_cast<std::uint64_t>(other_op) << 40);
    r.other_thread = other < block_->first_agent ? other : block_->copies[word].thread;  // an arrived copy's issuer
    r.other = not_awaited ? party::copy : same_warp(other) ? party::thread_of_warp : party::thread;
    counts_.add(r);
  };
  // A copy in flight may write at any time until a thread has waited for it.
  if (const started_copy copy = w.copy_bytes != 0 ? block_->copies[word] : started_copy{};
      (w.copy_bytes & bytes) != 0 && copy.site != pc)
    race(copy.site, copy.thread, operation::copy, strength::plain, copy.thread == thread || copy.epoch != epoch);
  const bool written = w.write_epoch == epoch && w.writer != thread && (w.write_bytes & bytes) != 0 &&
                       (!same_warp(w.writer) || w.write_sync == sync) &&
                       !order.ordered(w.writer, w.write_clock, thread);
  const operation written_by = w.write_strength == strength::atomic ? operation::atomic : operation::store;
  if (op == operation::load) {
    ++block_->words_loaded;
    if (written) race(w.write_site, w.writer, written_by, w.write_strength);
    if (bytes != whole_word) block_->byte_reads.resize(block_->words.size() * word_bytes);
    const auto note = [&](shared_reads& r) {
      if (order.active()) {
        auto& readers = block_->readers[&r];
        readers.resize(block_->syncs.size() * lanes_per_warp);
        readers[thread] = {order.clock(thread) + 1, how};
      }
      r.note({epoch, sync, pc, order.clock(thread), thread, how});
    };
    if (bytes == whole_word)
      note(w.read);
    else
      for_each_byte(note);
    return;
  }
  // If one instruction stores in several threads, any store may win: that matters if the values differ.
  if (written && (w.write_site != pc ||
                  (position && (w.write_bytes & bytes) == bytes && changes_value(*position, thread % lanes_per_warp))))
    race(w.write_site, w.writer, written_by, w.write_strength);
  if (how == strength::atomic) {  // may run beside other atomics, but not beside a plain store before them
    if (w.write_epoch == epoch && w.write_strength == strength::plain) {
      block_->stores.resize(block_->words.size());
      block_->stores[word] = {epoch, w.write_sync, w.write_site, w.write_clock, w.writer, w.write_bytes};
    } else if (word < block_->stores.size()) {
      const stored_before& s = block_->stores[word];
      if (s.epoch == epoch && s.thread != thread && (s.bytes & bytes) != 0 &&
          (!same_warp(s.thread) || s.sync == sync) && !order.ordered(s.thread, s.clock, thread))
        race(s.site, s.thread, operation::store, strength::plain);
    }
  }
  const auto check = [&](const shared_reads& r) {
    if (r.epoch != epoch) return;
    if (const auto found = order.active() ? block_->readers.find(&r) : block_->readers.end();
        found != block_->readers.end()) {
      const auto readers = std::move(found->second);
      block_->readers.erase(found);
      for (std::uint16_t i = 0; i < readers.size(); ++i) {
        const auto& [after, read_how] = readers[i];
        if (after == 0 || i == thread || order.ordered(i, after - 1, thread)) continue;
        if (same_warp(i) && r.sync != sync) continue;
        return race(r.site, i, operation::load, read_how);
      }
      return;
    }
    const bool by_others = r.by == shared_reads::many || !same_warp(r.reader) ||
                           (r.sync == sync && (r.by == shared_reads::one_warp || r.reader != thread));
    if (by_others && !order.ordered(r.reader, r.clock, thread))
      race(r.site, r.reader == thread ? r.other : r.reader, operation::load, r.weakest);
  };
  check(w.read);
  if (!block_->byte_reads.empty()) for_each_byte(check);
  if (!block_->asynchronous_reads.empty()) check_asynchronous_readers(site, word, thread, address, where);
  if (op == operation::copy) {
    block_->words_awaited += w.copy_bytes == 0;
    counts_.words_copied += w.copy_bytes == 0;
    w.copy_bytes |= bytes;
    block_->copies.resize(block_->words.size());
    block_->copies[word] = {thread, epoch, pc, block_->words_loaded};
    return;
  }
  if (w.copy_bytes != 0 && block_->copies[word].thread == thread && block_->copies[word].site == pc) {
    w.copy_bytes &= static_cast<std::uint8_t>(~bytes);
    counts_.copied_beside_loads += w.copy_bytes == 0 && block_->arrives(word);
  }
  if (w.write_epoch == epoch && w.writer == thread && w.write_strength == how) {
    w.write_bytes |= bytes;
  } else {
    w.write_bytes = bytes;
  }
  w.write_epoch = epoch;
  w.write_sync = sync;
  w.write_site = pc;
  w.write_clock = order.clock(thread);
  w.writer = thread;
  w.write_strength = how;
}

void observer::shared(std::uint64_t site, std::span<const std::uintptr_t> a, std::span<const std::uint8_t> lanes,
                      const warp_position& where) {
  // The compiler's own access to a guard, without effect: begin_block has set it.
  if (std::find(guards_.begin(), guards_.end(), a[0]) != guards_.end()) return;
  const std::size_t bytes = site_bytes(site);
  const operation op = site_operation(site);
  cached_site& entry = cached(space::shared, site);
  enter_basic_block(entry, where);
  site_counts& counts = *entry.counts;
  const lane_pattern pattern = pattern_of(a, std::max(bytes, word_bytes));
  counts.requests += !entry.at_mbarrier;
  counts.lanes += entry.at_mbarrier ? 0 : a.size();
  if (op != operation::copy && !entry.at_mbarrier) {
    const bool at_once = bytes <= word_bytes && pattern != lane_pattern::other;
    const shared_cost cost = at_once ? shared_cost{1, 1, pattern == lane_pattern::same ? bytes : a.size() * bytes}
                                     : cost_of_shared(a, lanes, bytes);
    counts.bytes += cost.bytes;
    counts.wavefronts += cost.wavefronts;
    counts.ideal_wavefronts += cost.ideal;
    if (op == operation::load && site_strength(site) == strength::plain && (bytes == word_bytes || bytes == 8))
      note_run(site, counts, cost, pattern, a, lanes, where);
  }
  if (op != operation::load) ++shared_changes_;
  if (op == operation::load && read_words(entry, site, pattern, a, lanes, where)) return;

  std::optional<party> writer;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if ((a[i] < entry.begin || a[i] + bytes > entry.end) && !enter_array(entry, a[i], bytes)) {
      const std::uintptr_t at = a[i] - dynamic_.begin;
      report(fault::out_of_bounds, site, space::shared, where, lanes[i], a[i] - shared_begin_,
             at < dynamic_.most ? fmt::format(", byte {} of dynamic shared memory, and the launch requests {} bytes "
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
      check_shared(site, word, mask, thread, offset, where, i);
      b += n;
    }
    if (initialised) continue;
    // This checks every copy in flight, so do it only once.
    if (!writer) writer = copy_pending(a[i]) ? party::copy : party::thread;
    report(fault::uninitialised, site, space::shared, where, lanes[i], offset, {}, *writer);
  }
}

}  // namespace sim
