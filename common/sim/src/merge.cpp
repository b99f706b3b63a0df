// Merges the records of a warp's lanes into warp instructions.
#include <algorithm>
#include <cstring>

#include "lines.hpp"
#include "worker.hpp"

namespace sim {

/// Reports an index out of its array's bounds. If the line's next access is to shared memory or a __device__ variable,
/// that variable's bounds decide: `tile[0][i]` may mean later rows. Local arrays have no such second check.
void worker::check_index(std::uint64_t site, unsigned lane, const access* next, const access* end,
                         std::uint64_t index) {
  const auto says_nothing = [this](const access& a) {
    return site_operation(a.site) > operation::local ||
           (site_operation(a.site) == operation::local && a.address - stacks_begin >= max_stacks * stack_bytes);
  };
  while (next != end && says_nothing(*next)) ++next;
  // Shared memory checks the access itself: an index beyond a row may reach the array's next row.
  const std::uintptr_t at = next != end ? next->address & address_mask : 0;
  if (next != end && (at - shared_begin < shared_bytes || in_one_variable(at - index * site_bytes(next->site), at)) &&
      line_of(site_pc(site)) == line_of(site_pc(next->site)))
    return;
  observer_.report(fault::local_bounds, site, space::none, {block_->number, warp_first_}, lane, 0,
                   " at index " + std::to_string(static_cast<std::int64_t>(index)));
}

/// Advances lanes whose next records are releases and acquires, except acquires that depend on other lanes' records.
/// False if all lanes have such acquires.
bool worker::merge_order(unsigned first, const access** head, unsigned here, unsigned syncing, unsigned ordering) {
  block_order& order = block_->shadow.order;
  unsigned passed = 0;
  for (unsigned rest = ordering; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    const block_order::clocks* known = order.known_after(head[lane]->address);
    bool early = false;
    for (unsigned others = known ? here & ~(1u << lane) : 0; others != 0; others &= others - 1) {
      const auto other = static_cast<unsigned>(__builtin_ctz(others));
      const std::uint32_t reached = ((ordering >> other) & 1) ? block_order::clock_after(head[other]->address)
                                                              : order.clock(first + other) + ((syncing >> other) & 1);
      early |= reached < (*known)[first + other];
    }
    if (!early) passed |= 1u << lane;
  }
  if (passed == 0 && ordering == here) passed = ordering & -ordering;
  for (unsigned rest = passed; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    if (head[lane]->address == waited_for_kernel_before)
      block_->shadow.note_wait_for_kernel_before(first / lanes_per_warp);
    else if (head[lane]->address == let_next_kernel_begin)
      block_->shadow.note_next_kernel(first / lanes_per_warp);
    else
      order.merge(first + lane, head[lane]->address);
    ++head[lane];
  }
  return passed != 0;
}

/// Lanes at the same instruction form one warp instruction. Where they differ, the deepest call is merged first, then
/// the lowest program counter, so that lanes reconverge after a branch. A warp function is merged when all lanes of its
/// mask have arrived; an acquire, after all accesses before the release. An interrupted lane will record more, so the
/// others wait unless `all` is set. Returns whether records are still waiting.
bool worker::put_together(unsigned first, unsigned count, bool all) {
  const access* head[lanes_per_warp];
  const access* end[lanes_per_warp];
  std::uint8_t alive[lanes_per_warp];
  bool more_to_come[lanes_per_warp];
  unsigned n = 0;
  for (unsigned lane = 0; lane < count; ++lane) {
    const state now = threads()[first + lane].now;
    lane_records& r = records_[lane];
    more_to_come[lane] = !all && (now == state::ready || now == state::fresh);
    head[lane] = r.read;
    end[lane] = r.write;
    if (r.read != r.write || more_to_come[lane]) alive[n++] = static_cast<std::uint8_t>(lane);
  }
  if (n == 0) return false;
  std::uintptr_t addresses[lanes_per_warp];
  std::uint8_t lanes[lanes_per_warp];
  const warp_position where{block_->number, first};
  warp_first_ = first;
  observer_.begin_merge(records_.data());
  bool interrupted = false;
  for (;;) {
    std::ptrdiff_t steps = record_capacity;  // steps for which every lane has a record
    for (unsigned i = 0; i < n;) {           // drop lanes without further records
      const unsigned lane = alive[i];
      steps = std::min(steps, end[lane] - head[lane]);
      if (head[lane] != end[lane]) {
        ++i;
      } else if (more_to_come[lane]) {
        interrupted = true;
        break;
      } else {
        steps = record_capacity;
        std::copy(alive + i + 1, alive + n, alive + i);
        --n;
        i = 0;
      }
    }
    if (interrupted || n == 0) break;
    const access* next[lanes_per_warp];
    for (unsigned i = 0; i < n; ++i) next[i] = head[alive[i]];
    std::uint64_t site = 0, different = 0;
    std::ptrdiff_t step = 0;
    for (; step < steps; ++step) {
      site = next[0][step].site;
      different = static_cast<std::uint64_t>(site_operation(site) >= operation::index);
      for (unsigned i = 0; i < n; ++i) {
        const access& a = next[i][step];
        different |= a.site ^ site;
        addresses[i] = a.address & address_mask;
      }
      if (different != 0) break;
      observer_.come_from(next, step);
      observer_.instruction(site, {addresses, n}, {alive, n}, where);
    }
    for (unsigned i = 0; i < n; ++i) head[alive[i]] += step;
    if (different == 0) continue;
    // lanes at a warp function, those that release or acquire, and all lanes that have more
    unsigned syncing = 0, ordering = 0, here = 0;
    for (unsigned i = 0; i < n; ++i) {
      const operation op = site_operation(head[alive[i]]->site);
      here |= 1u << alive[i];
      syncing |= static_cast<unsigned>(op == operation::sync) << alive[i];
      ordering |= static_cast<unsigned>(op == operation::order) << alive[i];
    }
    if (ordering != 0 && merge_order(first, head, here, syncing, ordering)) continue;
    const auto rank = [](std::uint64_t s) { return (~s & ~site_mask) | (s & 0xffff'ffff); };
    std::uint64_t best = ~std::uint64_t{0};
    for (unsigned i = 0; i < n; ++i) {
      const access* a = head[alive[i]];
      const auto mask = static_cast<unsigned>(a->address);
      if ((ordering >> alive[i]) & 1) continue;
      if (((syncing >> alive[i]) & 1) && (mask & here & ~syncing) != 0) continue;
      if (rank(a->site) < best) {
        best = rank(a->site);
        site = a->site;
      }
    }
    const access* from[lanes_per_warp];
    unsigned group = 0;
    for (unsigned i = 0; i < n; ++i) {
      const unsigned lane = alive[i];
      if (head[lane]->site != site) continue;
      from[group] = head[lane];
      addresses[group] = head[lane]->address & address_mask;
      lanes[group++] = static_cast<std::uint8_t>(lane);
      ++head[lane];
    }
    observer_.come_from(from, 0);
    if (site_operation(site) == operation::index)
      for (unsigned i = 0; i < group; ++i) check_index(site, lanes[i], head[lanes[i]], end[lanes[i]], from[i]->address);
    else
      observer_.instruction(site, {addresses, group}, {lanes, group}, where);
  }
  bool left = false;
  for (unsigned lane = 0; lane < count; ++lane) {
    lane_records& r = records_[lane];
    const auto rest = static_cast<std::size_t>(end[lane] - head[lane]);
    if (rest > 0 && head[lane] != r.begin) std::memmove(r.begin, head[lane], rest * sizeof(access));
    r.read = r.begin;
    r.write = r.read + rest;
    left |= rest > 0;
  }
  return left;
}

}  // namespace sim
