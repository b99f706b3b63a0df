// Runs a block: its warps in turn, up to the barrier at which all its threads wait.
#include <algorithm>
#include <cstring>
#include <utility>

#include "debugger.hpp"
#include "hooks.hpp"
#include "lines.hpp"
#include "recording.hpp"
#include "worker.hpp"

namespace sim {
namespace {

// Detecting a spinning thread is costly, so a thread that meets others in its loop is checked only every so many
// rounds. The number is odd so that the checks hit different points of the loop.
constexpr unsigned look_every = 257;

// A warp that has taken this many steps, or a block that has passed this many barriers, yields: it may be waiting for
// another one and counting its polls, so its state never repeats.
constexpr std::uint64_t steps_of_warp = std::uint64_t{1} << 22;
constexpr unsigned rounds_of_block = 64 * look_every;

}  // namespace

void worker::begin_block(running_block& block, std::uint64_t number) {
  const configuration& config = grid_->what->config;
  block.number = number;
  block.counted = 0;
  block.barriers = 0;
  for (auto& barrier : block.named_barriers) barrier = {};
  block.waits = block.time_out = block.finished = false;
  block.copies = {};
  block.products = {};
  block.pasts.clear();
  block.threads.resize(std::size_t{config.block.x} * config.block.y * config.block.z);
  unsigned x = 0, y = 0, z = 0;
  for (thread_state& t : block.threads) {
    t.index = {x, y, z};
    t.now = state::fresh;
    t.stack = nullptr;
    t.line = 0;
    t.as_before = false;
    t.barrier = nullptr;
    t.counter = nullptr;
    t.in_cluster_barrier = false;
    t.alone = t.clock = t.clock_reads = 0;
    t.depth = t.steps = 0;
    if (++x == config.block.x) {
      x = 0;
      if (++y == config.block.y) {
        y = 0;
        ++z;
      }
    }
  }
  observer_.begin_block(block.shadow, block.threads.size());
  block.shadow.recording = grid_->what->recording ? grid_->what->recording->block(number) : nullptr;
}

void worker::set_aside(running_block& block) {
  if (block.image_bytes < image_bytes_ || !block.shared_image) {
    block.shared_image.reset(new char[image_bytes_ + 1024]);
    block.image_bytes = image_bytes_;
  }
  for (const shared_array& array : observer_.arrays()) {
    const char* begin = reinterpret_cast<const char*>(__builtin_thread_pointer()) + array.offset;
    std::memcpy(block.image() + (reinterpret_cast<std::uintptr_t>(begin) - image_begin_), begin, array.bytes);
  }
}

void worker::bring_back(running_block& block) {
  for (const shared_array& array : observer_.arrays()) {
    char* begin = reinterpret_cast<char*>(__builtin_thread_pointer()) + array.offset;
    std::memcpy(begin, block.image() + (reinterpret_cast<std::uintptr_t>(begin) - image_begin_), array.bytes);
  }
  observer_.go_on_with(block.shadow);
}

/// Runs the block until it has finished or none of its threads can continue.
outcome worker::go_on_with(running_block& block) {
  block_ = &block;
  const dim3 grid = grid_->what->config.grid;
  blockIdx = {static_cast<unsigned>(block.number % grid.x), static_cast<unsigned>(block.number / grid.x % grid.y),
              static_cast<unsigned>(block.number / grid.x / grid.y)};
  observing_ = block.number % grid_->sample == 0;
  block_progressed_ = false;
  const auto count = static_cast<unsigned>(block.threads.size());
  if (debugged.attached) {  // without a debugger there are several workers
    debugged.block = blockIdx;
    debugged.threads = block.threads.data();
    debugged.thread_count = count;
  }
  for (unsigned round = 1;; ++round) {
    progressed_ = false;
    look_ = block.waits || round % look_every == 0;
    const unsigned warps = (count + lanes_per_warp - 1) / lanes_per_warp;
    const auto begin = static_cast<unsigned>(drawn(warps, block.number, round));
    for (unsigned i = 0; i < warps; ++i) {
      const unsigned first = (begin + i < warps ? begin + i : begin + i - warps) * lanes_per_warp;
      run_warp(first, std::min<unsigned>(lanes_per_warp, count - first));
    }
    if (kernel_aborted_) break;
    block_progressed_ |= progressed_;
    if (release_barrier()) {
      if (!progressed_ && block.waits) return outcome::waits_for_others;
      if (round >= rounds_of_block && may_yield()) return outcome::yielded;
      continue;
    }
    unsigned ready = 0, done = 0, waiting = 0, at_grid = 0;
    for (thread_state& t : block.threads) {
      ready += t.now == state::ready;
      done += t.now == state::done;
      at_grid += t.now == state::at_grid_barrier;
      waiting += t.now == state::waiting;
    }
    if (done == count) {
      if (block.shadow.recording) block.shadow.recording->end_phase(block);
      finish_copies();
      block.finished = true;
      if (observing_) observer_.end_block();
      return outcome::finished;
    }
    if (at_grid > 0 && at_grid + done == count) return outcome::waits_for_grid;
    if (ready > 0) return outcome::yielded;
    if (waiting == 0) {
      report_stuck();
      break;
    }
    if (!wake_waiting()) return outcome::waits_for_others;
  }
  kernel_aborted_ = false;
  return outcome::aborted;
}

/// Threads that poll check again; those that wait for a phase continue if it has ended. False if no thread can continue
/// until another block changes something.
bool worker::wake_waiting() {
  bool ended = false, polls = false;
  for (thread_state& t : threads()) {
    if (t.now != state::waiting) continue;
    const bool knows = t.barrier || t.counter;
    if (knows && !may_continue(t)) continue;
    t.now = state::ready;
    (knows ? ended : polls) = true;
  }
  if (ended || (polls && progressed_)) return true;
  if (!std::exchange(block_->time_out, false)) return false;
  block_->waits = true;  // to detect whether its threads do anything else
  for (thread_state& t : threads())
    if (t.now == state::waiting) t.now = state::ready;
  return true;
}

/// Runs the warp until each lane waits at the block's barrier, waits for lanes that cannot arrive now, or has returned.
/// Also stops a long-running warp if that does not change the counts.
void worker::run_warp(unsigned first, unsigned count) {
  const bool look = look_;
  std::uint64_t steps = 0;
  bool meeting = false;  // a lane waits in a warp function
  for (unsigned lane = 0; lane < count; ++lane) meeting |= threads()[first + lane].now == state::at_collective;
  bool rest = false;  // some accesses must wait for those of other lanes
  unsigned turn = 1;
  for (bool again = true; again && !kernel_aborted_; ++turn) {
    if (workers_stopped.load(std::memory_order_relaxed)) [[unlikely]] {
      const stopped_thread where = where_stopped(first, count);
      stay_stopped(&where);
    }
    bool moved = false, new_state = false;
    look_ = look || turn % look_every == 0;
    unsigned waiting = 0;  // lanes that this round does not run
    for (unsigned lane = 0; pausing_ && lane < count; ++lane)
      waiting |= static_cast<unsigned>(threads()[first + lane].now == state::at_collective) << lane;
    // Under a debugger, run only lanes in step, the leader first. Not in every round: the leader may wait for another
    // lane.
    if (debugged.attached && turn % look_every != 0) waiting |= ~lanes_in_step(first, count);
    const unsigned from = debugged.attached && leader_ >= 0 ? static_cast<unsigned>(leader_) - first
                                                            : static_cast<unsigned>(drawn(count, first, turn));
    for (unsigned i = 0; i < count && !kernel_aborted_; ++i) {
      const unsigned lane = from + i < count ? from + i : from + i - count;
      thread_state& t = threads()[first + lane];
      if ((t.now != state::fresh && t.now != state::ready) || records_[lane].full() || (waiting >> lane & 1)) continue;
      steps += resume(t);
      moved = true;
      new_state |= !current_->as_before;
      meeting |= current_->now == state::at_collective;  // may be a later lane: new lanes run in the same fiber
    }
    rest = observing_ && put_together(first, count, debugged.attached);
    if (observer_.counts().ran_away) kernel_aborted_ = true;
    if (meeting) moved |= settle_collectives(first, count);
    again = false;
    for (unsigned lane = 0; moved && lane < count; ++lane) {
      state& now = threads()[first + lane].now;
      if (now == state::ready && look_ && !new_state) now = state::waiting;
      again |= now == state::ready;
    }
    pausing_ = steps >= steps_of_warp && may_yield();
    if (pausing_ && !rest) break;
  }
  pausing_ = false;
  look_ = look;
  if (rest) put_together(first, count, true);
}

/// When the program is stopped: lets one of the warp's threads take more steps, to find out what it repeats.
stopped_thread worker::where_stopped(unsigned first, unsigned count) {
  stopped_thread stopped;
  bool ran = false;
  for (unsigned lane = 0; lane < count; ++lane) {
    if (threads()[first + lane].now != state::ready || records_[lane].full()) continue;
    look_ = true;  // also records in an unobserved block
    resume(threads()[first + lane]);
    if (observing_ && current_->now == state::waiting && !records_[lane_number()].full())
      resume(*current_);  // it polls
    ran = true;
    break;
  }
  if (!ran) return stopped;  // the block has just begun
  const access* const begin = records_[lane_number()].begin;
  stopped.block = block_->number;
  stopped.thread = current_number_;
  stopped.barriers = block_->barriers;
  if (write == begin) return stopped;
  const access* const last = write - 1;
  const auto before = std::find_if(std::reverse_iterator(last), std::reverse_iterator(begin),
                                   [last](const access& a) { return a.site == last->site; });
  const bool repeats = before.base() != begin;
  for (const access* a = repeats ? before.base() : last; a <= last; ++a) stopped.loop.push_back(site_pc(a->site));
  if (repeats) stopped.rounds = current_->steps / stopped.loop.size();
  return stopped;
}

/// Releases the barrier if all threads that have not returned wait at it. False if none waits, or only some.
bool worker::release_barrier() {
  std::size_t waiting = 0, done = 0;
  const thread_state* elsewhere = nullptr;  // at a different barrier from the lane before it
  const thread_state* last = nullptr;
  for (const thread_state& t : threads()) {
    done += t.now == state::done;
    if (t.now != state::at_barrier) continue;
    ++waiting;
    if (last && last->waits_at != t.waits_at && !elsewhere &&
        (last - threads().data()) / lanes_per_warp == (&t - threads().data()) / lanes_per_warp)
      elsewhere = &t;
    last = &t;
  }
  if (waiting == 0 || waiting + done != threads().size()) return false;
  if (elsewhere) report_two_barriers(*elsewhere);
  if (observing_) observer_.counts().barriers += (waiting + lanes_per_warp - 1) / lanes_per_warp;
  if (block_->shadow.recording) block_->shadow.recording->end_phase(*block_);
  observer_.barrier();
  for (thread_state& t : threads())
    if (t.now == state::at_barrier) t.now = state::ready;
  ++block_->barriers;
  block_->released_count = std::exchange(block_->counted, 0);
  return true;
}

/// Barrier 0 with all threads is the barrier of __syncthreads().
void worker::named_barrier(unsigned id, unsigned count, bool wait, std::uintptr_t pc, std::uintptr_t frame) {
  if (id >= std::size(block_->named_barriers))
    abort_kernel(fault::divergent_barrier, make_site(pc, 0, operation::load), 0,
                 "there is no barrier " + std::to_string(id) + ": a block has barriers 0 to 15");
  if (id == 0 && count == 0 && wait) return barrier(pc, frame);
  if (observing_ && lane_number() == 0) ++observer_.counts().barriers;
  auto& shared = block_->named_barriers[id];
  const std::uintptr_t arrivals = 2 * id, departures = 2 * id + 1;  // flags, not addresses
  if (block_order* order = this->order()) note_order(order->release(current_number_, arrivals), frame);
  const unsigned phase = shared.phase;
  ++shared.arrived;
  const auto complete = [&] {
    std::size_t here = shared.arrived;
    if (count == 0)
      here += static_cast<std::size_t>(std::count_if(threads().begin(), threads().end(),
                                                     [](const thread_state& t) { return t.now == state::done; }));
    if (here < (count == 0 ? threads().size() : count)) return;
    shared.arrived = 0;
    ++shared.phase;
    if (block_order* order = this->order()) order->pass_on(arrivals, departures);
  };
  complete();
  if (!wait) return;
  while (shared.phase == phase) {
    if (count > 0) current_->counter = &shared.phase;
    current_->phase = phase;
    spin(pc, frame);
    current_->counter = nullptr;
    if (shared.phase == phase) complete();
  }
  if (block_order* order = this->order()) note_order(order->acquire(current_number_, departures), frame);
}

/// Lanes of a warp wait at different barriers. A compiler may have duplicated a barrier; then both are on the same
/// line.
void worker::report_two_barriers(const thread_state& t) {
  const auto number = static_cast<std::uint32_t>(&t - threads().data());
  const thread_state* other = &t - 1;
  while (other->now != state::at_barrier) --other;
  const source_line here = line_of(t.waits_at), there = line_of(other->waits_at);
  if (here.file == there.file && here.line == there.line) return;
  observer_.report(fault::divergent_barrier, waiting_site(t), space::shared, {block_->number, number}, 0, 0,
                   "thread " + std::to_string(other - threads().data()) + " of the same warp waits at " + there.file +
                       ":" + std::to_string(there.line));
}

/// Some threads wait for others of their block that will never arrive.
void worker::report_stuck() {
  for (unsigned i = 0; i < threads().size(); ++i) {
    const thread_state& t = threads()[i];
    if (t.now != state::at_collective) continue;
    std::string missing;
    const unsigned first = i / 32 * 32;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (!((t.mask >> lane) & 1) ||
          (first + lane < threads().size() && threads()[first + lane].now == state::at_collective &&
           threads()[first + lane].waits_at == t.waits_at))
        continue;
      missing += (missing.empty() ? "" : ", ") + std::to_string(lane);
    }
    observer_.report(fault::missing_lane, waiting_site(t), space::shared, {block_->number, i}, 0, 0,
                     "these lanes in its mask never arrive: " + missing);
    return;
  }
  for (unsigned i = 0; i < threads().size(); ++i)
    if (threads()[i].now == state::at_barrier || threads()[i].now == state::at_grid_barrier) {
      observer_.report(fault::divergent_barrier, waiting_site(threads()[i]), space::shared, {block_->number, i}, 0, 0,
                       "other threads of the block wait at a different barrier or in a loop");
      return;
    }
}

void worker::report_infinite_wait(const running_block& block) {
  // The block is suspended: its barriers are in its image.
  const auto barrier_of = [&](const thread_state& t) -> const mbarrier* {
    const auto at = reinterpret_cast<std::uintptr_t>(t.barrier);
    return at - shared_begin < shared_bytes
               ? reinterpret_cast<const mbarrier*>(const_cast<running_block&>(block).image() + (at - image_begin_))
               : t.barrier;
  };
  const auto lacks_bytes = [&](const thread_state& t) { return t.barrier && barrier_of(t)->bytes() != 0; };
  const thread_state* which = nullptr;
  for (const thread_state& t : block.threads)
    if (t.as_before && t.now != state::done && (!which || (lacks_bytes(t) && !lacks_bytes(*which)))) which = &t;
  if (!which) return;
  std::string detail;
  if (which->barrier)
    detail = "its mbarrier lacks " + std::to_string(barrier_of(*which)->to_come()) + " arrivals and " +
             std::to_string(barrier_of(*which)->bytes()) + " bytes";
  else if (grid_->schedule.share_begun() < 1)
    detail = "only " + std::to_string(resident_blocks()) + " of its " + std::to_string(grid_->blocks) +
             " blocks fit on the device, and the others cannot begin until one of these has ended";
  observer_.report(fault::infinite_wait, waiting_site(*which), space::global,
                   {block.number, static_cast<std::uint32_t>(which - block.threads.data())}, 0, 0, detail);
}

void worker::abandon(running_block& block) {
  for (thread_state& t : block.threads)
    if (t.stack) {
      t.stack->context = nullptr;
      free_stacks_.push_back(t.stack);
      t.stack = nullptr;
    }
  for (lane_records& r : records_) r.read = r.write = r.begin;
  block.shadow.order.abandon_block();
}

/// A fault that stops a kernel on a GPU stops it here before the access happens.
void worker::abort_kernel(fault what, std::uint64_t site, std::uintptr_t address, const std::string& detail) {
  sim_active_worker = sim_running_worker = nullptr;
  report_here(what, site, address - shared_begin < shared_bytes ? space::shared : space::global, address, detail);
  counts().ran_away |= what == fault::out_of_bounds;
  kernel_aborted_ = true;
  jump();  // never returns: the worker abandons this fiber
  __builtin_unreachable();
}

}  // namespace sim
