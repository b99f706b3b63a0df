// Warp functions: lanes of a warp wait for each other and exchange values.
#include <bit>

#include "hooks.hpp"
#include "worker.hpp"

namespace sim {

void worker::meet(unsigned mask, void* argument, combine_function combine, std::uintptr_t pc, std::uintptr_t frame) {
  sim_active_worker = sim_running_worker = nullptr;
  thread_state& self = *current_;
  if (mask != any_lanes && !((mask >> lane_number()) & 1)) {
    observer_.report(fault::missing_lane, make_site(pc, 0, operation::load), space::shared,
                     {block_->number, current_number_}, 0, 0, "the calling lane itself is not in the mask");
    mask = 1u << lane_number();  // the lane meets no other
  }
  if (recording_) {
    const access meeting{make_site(pc, 0, operation::sync, last_depth()), mask};
    *write++ = meeting;
    if (write == write_end) {
      leave(frame);
      sim_active_worker = sim_running_worker = nullptr;
    }
  } else {
    turn(frame);
    sim_active_worker = sim_running_worker = nullptr;
  }
  self.mask = mask;
  self.argument = argument;
  self.combine = combine;
  self.waits_at = pc;
  self.now = state::at_collective;
  // The last lane to arrive completes the call and need not wait. Lanes run in order, so the highest arrives last.
  if (mask != any_lanes) {
    const unsigned first = warp_first();
    const auto is_here = [&](unsigned lane) {
      return first + lane < threads().size() && threads()[first + lane].meets(self);
    };
    unsigned missing =
        std::rotr(mask, static_cast<int>(lane_number() + 1));  // the next lane first: it is usually missing
    while (missing != 0 &&
           is_here((lane_number() + 1 + static_cast<unsigned>(std::countr_zero(missing))) % lanes_per_warp))
      missing &= missing - 1;
    if (missing == 0) complete(first, mask);
  }
  if (self.now == state::at_collective || pausing_) leave(frame);  // pausing: no lane gets ahead of the others
  if (block_order* order = this->order())
    if (const std::uint64_t met = order->met(current_number_)) {
      put_order(met);
      if (write == write_end) leave(frame);
    }
  enter();
}

/// Completes calls that wait only for returned lanes, which will not arrive. True if a lane can continue.
bool worker::settle_collectives(unsigned first, unsigned count) {
  bool any = false;
  unsigned moving = 0;  // lanes that may still arrive
  for (unsigned lane = 0; lane < count; ++lane) {
    const state now = threads()[first + lane].now;
    moving |= static_cast<unsigned>(now != state::at_collective && now != state::done) << lane;
  }
  for (unsigned lane = 0; lane < count; ++lane) {
    const thread_state& t = threads()[first + lane];
    if (t.now != state::at_collective || t.mask == any_lanes || (t.mask & moving) != 0) continue;
    unsigned here = 0, gone = 0;
    for (unsigned other = 0; other < lanes_per_warp; ++other) {
      const bool exists = first + other < threads().size();
      const thread_state* o = exists ? &threads()[first + other] : nullptr;
      if (!exists || o->now == state::done)
        gone |= 1u << other;
      else if (o->meets(t))
        here |= 1u << other;
    }
    if ((t.mask & ~gone & ~here) != 0) continue;
    complete(first, here & t.mask ? here & t.mask : 1u << lane);
    any = true;
  }
  return any || release_any_lanes(first, count);
}

/// Called when every lane waits. Of those that wait for any lanes, releases those at the lowest program counter.
bool worker::release_any_lanes(unsigned first, unsigned count) {
  const thread_state* lowest = nullptr;
  for (unsigned lane = 0; lane < count; ++lane) {
    const thread_state& t = threads()[first + lane];
    if (t.now == state::ready || t.now == state::fresh) return false;
    if (t.now == state::at_collective && t.mask == any_lanes && (!lowest || t.waits_at < lowest->waits_at)) lowest = &t;
  }
  if (!lowest) return false;
  unsigned here = 0;
  for (unsigned lane = 0; lane < count; ++lane)
    here |= static_cast<unsigned>(threads()[first + lane].meets(*lowest)) << lane;
  complete(first, here);
  return true;
}

void worker::complete(unsigned first, unsigned participants) {
  if (observing_) block_->shadow.order.meet(first, participants);
  warp_call call;
  call.participants = participants;
  combine_function combine = nullptr;
  for (unsigned lane = 0; lane < lanes_per_warp; ++lane) {
    if (!call.has(lane)) continue;
    thread_state& t = threads()[first + lane];
    call.argument[lane] = t.argument;
    combine = t.combine;
    call.pc = reinterpret_cast<const void*>(t.waits_at);
    t.now = state::ready;
  }
  if (combine) combine(call);
}

}  // namespace sim
