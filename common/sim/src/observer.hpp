// Observes warp instructions: counts sectors and wavefronts, and finds faults.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "addresses.hpp"
#include "basic_blocks.hpp"
#include "bulk.hpp"
#include "counts.hpp"
#include "heap.hpp"
#include "order.hpp"
#include "program.hpp"
#include "recent.hpp"
#include "sim/launch.h"

namespace sim {

struct recorded_block;
struct lane_records;

/// Identifies a warp: enough to name a thread in a report.
struct warp_position {
  std::uint64_t block = 0;         ///< linear block index
  std::uint32_t first_thread = 0;  ///< linear thread index of lane 0
};

/// A thread's read of shared memory.
struct shared_read {
  std::uint32_t epoch = 0, sync = 0, site = 0, clock = 0;
  std::uint16_t thread = 0;
  strength how = strength::plain;
};
/// The threads that have read a word of shared memory, or one of its bytes.
struct shared_reads {
  enum readers : std::uint8_t { one, one_warp, many };
  std::uint32_t epoch = 0, sync = 0, site = 0, clock = 0;
  std::uint16_t reader = 0, other = 0;  ///< the first one, and another
  readers by = one;
  strength weakest = strength::plain;
  void note(const shared_read& by_thread);
};
/// The thread that last wrote a word of shared memory, and those that have read all of it. A barrier of the block
/// orders the accesses before and after it. Within a warp, a warp function does so, too; block_order also orders them.
struct shared_word {
  std::uint32_t write_epoch = 0, write_sync = 0, write_site = 0, write_clock = 0;
  std::uint16_t writer = 0;
  std::uint8_t write_bytes = 0;  ///< bit b: byte b of the word
  strength write_strength = strength::plain;
  std::uint8_t copy_bytes = 0;  ///< the bytes that an asynchronous copy in flight will write
  shared_reads read;
};
/// Where an asynchronous copy into a word of shared memory started.
struct started_copy {
  std::uint16_t thread = 0;
  std::uint32_t epoch = 0, site = 0;
  std::uint32_t loaded = 0;  ///< words that the block had loaded
};

/// A plain store to a word of shared memory, which a later atomic has replaced in shared_word.
struct stored_before {
  std::uint32_t epoch = 0, sync = 0, site = 0, clock = 0;
  std::uint16_t thread = 0;
  std::uint8_t bytes = 0;
};

/// Asynchronous users of a block's shared memory: the products of each warpgroup, then the bulk copies. block_order
/// numbers them after the threads.
struct asynchronous_agent {
  std::uint32_t site = 0, thread = 0;  ///< issuer and place of the last read
  std::uint32_t first_clock = 0;       ///< of reads since the last barrier
  std::uint32_t awaited = 0;           ///< a thread has waited for the reads before this clock
};
constexpr std::size_t threads_per_warpgroup = 128;

/// The state of one block's shared memory.
struct block_shadow {
  std::vector<std::uint8_t> valid;  ///< by word, like shadow_memory::valid
  std::vector<shared_word> words;
  std::vector<shared_reads> byte_reads;  ///< by byte: reads of less than a word, if any
  std::vector<started_copy> copies;      ///< by word, if any
  std::vector<stored_before> stores;     ///< by word, if any
  std::size_t words_awaited = 0;         ///< to be written by copies in flight
  std::uint32_t words_loaded = 0;        ///< modulo 2^32
  std::vector<std::uint32_t> syncs;      ///< by warp: warp functions so far
  std::uint32_t waited = 0;              ///< a bit for each warp: it has waited for the previous kernel
  bool next_may_begin = false;           ///< before this block has waited
  block_order order;
  /// While `order` is active: for a word or byte, by thread, the clock of the last read plus one, and that read's
  /// strength.
  std::unordered_map<const shared_reads*, std::vector<std::pair<std::uint32_t, strength>>> readers;
  std::vector<asynchronous_agent> agents;
  std::vector<std::uint32_t> asynchronous_reads;  ///< by word and agent, if any: the clock of the last read plus one
  std::size_t first_agent = 0;                    ///< in block_order: the number of threads
  std::size_t copying_agent() const { return first_agent + agents.size() - 1; }
  std::vector<warp_path> paths;      ///< by warp: since the last barrier
  warp_path path;                    ///< before it
  std::vector<std::uint32_t> lines;  ///< by warp: lines of global memory that it has advanced by
  std::uint32_t number = 0;          ///< of the block, in recent_line
  std::uint32_t epoch = 0;           ///< a new one after each barrier
  std::uint32_t first_access = 0;    ///< of global memory, in recent_accesses, since the last barrier
  /// Records the block's steps; usually null.
  recorded_block* recording = nullptr;
  /// Notes that a word has arrived. Returns whether its flight overlapped work: the block has meanwhile loaded a
  /// quarter of what is in flight.
  bool arrives(std::size_t word) {
    const bool beside = words_awaited > 0 && 4 * std::size_t{words_loaded - copies[word].loaded} >= words_awaited;
    words_awaited -= words_awaited > 0;
    return beside;
  }
  /// Called for a warp that has waited; counts for all warps if threads hand over data by anything finer than
  /// __syncthreads().
  void note_wait_for_kernel_before(std::size_t warp) { waited |= order.active() ? ~0U : 1U << warp; }
  void note_next_kernel(std::size_t warp) { next_may_begin |= ((waited >> warp) & 1) == 0; }
};

/// Counts for one worker.
class observer {
 public:
  void begin_launch(std::uint16_t epoch, std::uintptr_t thread_pointer, const configuration& config,
                    const overlapping& others);
  void begin_epoch(std::uint16_t epoch) { epoch_ = epoch; }  ///< after a grid-wide barrier
  /// Marks shared memory as unwritten; it reads as NaN.
  void begin_block(block_shadow& shadow, std::size_t threads);
  void go_on_with(block_shadow& shadow) { block_ = &shadow; }
  void barrier();
  /// Orders later accesses after earlier ones.
  void new_epoch(block_shadow& shadow) {
    shadow.epoch = ++block_epochs_;
    if (shadow.waited != 0) shadow.waited = ~0U;
    shadow.first_access = accesses_.next();
    for (std::size_t i = 0; i < shadow.agents.size(); ++i)
      shadow.agents[i].first_clock = shadow.order.latest(shadow.first_agent + i);
    if (!shadow.order.active()) return;
    shadow.order.barrier();
    shadow.readers.clear();
  }
  void end_block();
  /// This launch's shared arrays; dynamic ones have the launch's dynamic size.
  const std::vector<shared_array>& arrays() const { return arrays_; }

  /// One warp instruction: `lanes[i]` accessed `addresses[i]`; lanes ascend.
  void instruction(std::uint64_t site, std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
                   const warp_position& where) {
    if (block_->recording) [[unlikely]]
      return record(site, addresses, lanes, where);
    observe(site, addresses, lanes, where);
  }

  /// Where to find the records of the next instructions of a warp: those of all its lanes, and of each instruction's.
  void begin_merge(const lane_records* of_warp) { records_ = of_warp; }
  void come_from(const access* const* heads, std::ptrdiff_t step) {
    heads_ = heads;
    step_ = step;
  }

  /// Checks such instructions without counting them.
  void note_mbarrier_access(std::uintptr_t pc) { mbarrier_accesses_.insert(pc); }

  // ---- bulk_memory.cpp: called at once

  /// Keeps the access until the record with the returned number is merged.
  std::uintptr_t keep(bulk_access access);
  /// The copy has written its data. All records of its block have been merged.
  void copy_arrived(block_shadow& shadow, const arriving_copy& copy);
  /// Another block of the cluster has issued the copy.
  void copy_begins_outside(block_shadow& shadow, const char* to, std::size_t bytes, std::uintptr_t pc);
  /// Another block's thread in the cluster accesses this block's shared memory. False if the access is outside all
  /// arrays.
  bool remote_access(block_shadow& shadow, std::uintptr_t address, std::size_t bytes, bool reads, bool writes,
                     bool* initialised);

  void report(fault what, std::uint64_t site, space where, const warp_position& position, std::uint32_t lane,
              std::uintptr_t address, std::string detail = {}, party other = party::thread);
  launch_counts& counts() { return counts_; }
  launch_counts take();  ///< returns the counts so far and starts over
  std::size_t static_shared_bytes() const;

 private:
  struct cached_site {
    std::uint64_t key = ~std::uint64_t{0};
    site_counts* counts = nullptr;
    std::uintptr_t begin = 0, end = 0;  ///< the allocation or array that this site last accessed
    allocation_counts* of_allocation = nullptr;
    std::size_t first_word = 0;          ///< of the array, in block_shadow
    std::uintptr_t last = 0;             ///< start of this site's last request
    std::uintptr_t stride = 0;           ///< and its distance from the one before
    std::uint64_t stores = 0;            ///< value of stores_ then
    std::uint64_t visit = 0;             ///< value of visits_ then
    std::uint32_t turns = 0;             ///< since its requests have had a constant stride
    std::uint32_t epoch = 0, warp = 0;   ///< of that request
    const block_info* begins = nullptr;  ///< the basic block whose first access this is
    bool at_mbarrier = false;            ///< performed by the synchronisation unit: not a load, store or atomic
  };
  cached_site& cached(space where, std::uint64_t site) {
    const std::uint64_t key = (site & site_mask) | (static_cast<std::uint64_t>(where) << 48);
    cached_site& entry = recent_[(key * 0x9e37'79b9'7f4a'7c15) >> 54];
    return entry.key == key ? entry : look_up(entry, key, where, site);
  }
  void observe(std::uint64_t site, std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
               const warp_position& where);
  void record(std::uint64_t site, std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
              const warp_position& where);
  site_counts counted_at(space where, std::uint64_t site) const;
  cached_site& look_up(cached_site& entry, std::uint64_t key, space where, std::uint64_t site);
  void global(std::uint64_t site, std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
              const warp_position& where);
  void shared(std::uint64_t site, std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
              const warp_position& where);
  struct shared_cost {
    std::size_t wavefronts = 0, ideal = 0, bytes = 0;
  };
  static shared_cost cost_of_shared(std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
                                    std::size_t bytes);
  /// One warp's loads of neighbouring words in shared memory. Arrays begin at multiples of 16 bytes, so the assembler
  /// knows the alignment of a constant index and of a loop index that starts at a constant. It merges the loads of a
  /// basic block, or of a loop that nvcc unrolls by four, into vectors of 8 or 16 bytes.
  struct shared_run {
    std::uintptr_t next = 0;  ///< where the first lane would continue
    std::uint64_t site = 0, visit = 0, changes = 0, used = 0, turns = 0;
    std::uint32_t warp = 0, mask = 0;
    std::uint8_t bytes = 0, start = 0;  ///< start: one of four bits, for the word where it began; all if lanes differ
    // Within the current 16 bytes:
    bool one_visit = true, joined = false;
    std::size_t length = 0, lanes_used = 0;
    std::array<std::uintptr_t, lanes_per_warp> begin{};
    std::array<std::uint8_t, lanes_per_warp> lanes{};
    std::array<site_counts*, 4> counts{};
    std::array<shared_cost, 4> costs{};
  };
  void note_run(std::uint64_t site, site_counts& counts, const shared_cost& cost, lane_pattern pattern,
                std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
                const warp_position& where);
  static void join(const shared_run& run);
  allocation_counts& allocation_counts_of(const allocation& home);
  void count_by_allocation(operation op, std::span<const std::uintptr_t> addresses, std::size_t bytes);
  void global_lane(std::uint64_t site, std::uintptr_t address, std::uint8_t lane, const warp_position& where);
  warp_path& path_of(const warp_position& where) { return block_->paths[where.first_thread / lanes_per_warp]; }
  /// Also counts the block's computations.
  void enter_basic_block(const cached_site& entry, const warp_position& where) {
    if (!entry.begins) return;
    path_of(where).instructions += entry.begins->instructions;
    ++visits_;
    basic_block_ = entry.begins;
    first_load_ = true;
  }
  bool is_again(cached_site& entry, const warp_position& where) const;
  std::uint64_t warp_path::*wait_for(cached_site& entry, std::span<const std::uintptr_t> addresses, std::uintptr_t low,
                                     bool near, const warp_position& where);
  void end_phase();
  struct reuse {
    bool near = false;   ///< the warp need not wait for L2
    bool in_l1 = false;  ///< the block has loaded these sectors before
  };
  reuse note_reuse(std::uintptr_t line, std::uint8_t sectors, std::uint32_t now, const warp_position& where);
  void bulk(std::uint64_t site, const bulk_access& access, std::uint8_t lane, const warp_position& where);
  void bulk_global(std::uint64_t site, const bulk_access& access, std::uint8_t lane, const warp_position& where);
  void bulk_read(std::uint64_t site, const bulk_access& access, std::uint8_t lane, const warp_position& where);
  void check_asynchronous_readers(std::uint64_t site, std::size_t word, std::uint16_t thread, std::uintptr_t address,
                                  const warp_position& where);
  struct word_range {
    std::size_t first = 0;     ///< in block_shadow
    std::uintptr_t begin = 0;  ///< of its array
    bool found = false;
  };
  word_range words_at(std::uintptr_t address, std::size_t bytes);
  bool enter_array(cached_site& entry, std::uintptr_t address, std::size_t bytes);
  bool read_words(cached_site& entry, std::uint64_t site, lane_pattern pattern, std::span<const std::uintptr_t> a,
                  std::span<const std::uint8_t> lanes, const warp_position& where);
  void check_shared(std::uint64_t site, std::size_t word, std::uint8_t bytes, std::uint16_t thread,
                    std::uintptr_t address, const warp_position& where, std::optional<std::size_t> position = {});
  bool changes_value(std::size_t position, std::uint32_t lane) const;

  /// A sector with a possible race, and its words.
  struct touched_sector {
    std::uintptr_t sector;
    std::uint8_t words;
  };
  void check_races(std::uint64_t site, std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
                   const warp_position& where, std::span<const touched_sector> sectors, std::uintptr_t low,
                   std::uintptr_t high, bool row, bool distinct, std::uintptr_t base);
  struct conflict {
    std::uint8_t words = 0;
    fault what = fault::global_race;
    std::uint64_t with = 0;  ///< block, or epoch of the other launch; some_block: another block
  };
  conflict use_words(sector_shadow& shadow, const sector_shadow* beside, std::uint8_t words, std::uint64_t site,
                     const warp_position& where);
  void check_bytes(std::uint64_t site, std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
                   const warp_position& where, std::uintptr_t base);
  void check_block(std::uint64_t site, std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
                   const recent_accesses::entry& before, const warp_position& where);
  void check_within(std::uint64_t site, std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
                    const warp_position& where);
  conflict conflict_with(const sector_use& use, std::uint8_t words, const warp_position& where) const;
  sector_use note(std::atomic<sector_use>& cell, std::uint8_t words, std::uint32_t block) const;
  void report_conflict(const conflict& c, std::uintptr_t begin, std::size_t bytes, std::uint64_t site,
                       std::span<const std::uintptr_t> addresses, std::span<const std::uint8_t> lanes,
                       const warp_position& where);

  launch_counts counts_;
  std::unordered_map<std::uint64_t, cached_site> sites_;
  std::vector<cached_site> recent_ = std::vector<cached_site>(1024);  ///< by a hash of the site
  std::uint64_t stores_ = 0;                                          ///< to global memory
  std::uint64_t stores_waited_ = 0;   ///< those before the last load that a thread waited for
  std::uint64_t visits_ = 0;          ///< to basic blocks
  bool first_load_ = true;            ///< no load yet in this basic block
  std::uint64_t shared_changes_ = 0;  ///< stores to shared memory, and operations that order them
  std::uint64_t runs_noted_ = 0;
  std::array<shared_run, 32> runs_{};  ///< the latest
  const block_info* basic_block_ = nullptr;
  std::uint16_t epoch_ = 0;
  overlapping others_;
  unsigned near_distance_ = 7;  ///< as for launch_counts::reuse: probably still in L1
  /// A line from which a block has loaded: which sectors, and how far its warp had advanced.
  struct recent_line {
    std::uintptr_t line = 0;
    std::uint32_t block = 0, at = 0;
    std::uint8_t sectors = 0;
    // The warp that has waited for it since the last barrier: where first, how many times, and how.
    std::uint32_t warp = 0, epoch = 0, first = 0, count = 0;
    std::uint64_t warp_path::*waits = nullptr;
    void note_wait(std::uint64_t warp_path::*how, std::uint32_t now, std::uint32_t of, std::uint32_t since) {
      if (warp != of || epoch != since || waits != how) first = now, count = 0;
      warp = of;
      epoch = since;
      waits = how;
      ++count;
    }
  };
  recent_line& line_entry(std::uintptr_t line) { return recent_lines_[(line * 0x9e37'79b9'7f4a'7c15) >> 52]; }
  std::vector<recent_line> recent_lines_ = std::vector<recent_line>(4096);  ///< by a hash; twice the capacity of an L1
  std::uint32_t block_numbers_ = 0;
  std::uintptr_t thread_pointer_ = 0, shared_begin_ = 0, shared_bytes_ = 0;
  struct {
    std::uintptr_t begin;
    std::size_t most, bytes;  ///< the most that a launch can have, and the size of this one
  } dynamic_{};
  block_shadow* block_ = nullptr;
  const lane_records* records_ = nullptr;
  const access* const* heads_ = nullptr;
  std::ptrdiff_t step_ = 0;
  std::uint32_t block_epochs_ = 0;
  std::vector<shared_array> arrays_;
  std::vector<std::size_t> first_word_;  ///< by array, in block_shadow
  std::size_t words_ = 0;
  std::vector<char> touched_;  ///< by array
  std::vector<std::uintptr_t> guards_;
  recent_accesses accesses_;
  std::unordered_set<std::uintptr_t> mbarrier_accesses_;
  std::vector<bulk_access> kept_;
  std::vector<std::uintptr_t> kept_free_;
};

}  // namespace sim
