#include "order.hpp"

#include <algorithm>
#include <utility>

#include "access.hpp"

namespace sim {
namespace {

bool covers(const block_order::clocks& a, const block_order::clocks& b) {
  std::uint32_t less = 0;
  for (std::size_t i = 0; i < a.size(); ++i) less |= static_cast<std::uint32_t>(a[i] < b[i]);
  return less == 0;
}

/// Copies on write: others that hold the same clocks keep the old values.
void add(block_order::knowledge& to, const block_order::knowledge& more) {
  if (!more || to == more) return;
  if (!to || covers(*more, *to)) {
    to = more;
    return;
  }
  if (covers(*to, *more)) return;
  if (to.use_count() > 1) to = std::make_shared<block_order::clocks>(*to);
  for (std::size_t i = 0; i < to->size(); ++i) (*to)[i] = std::max((*to)[i], (*more)[i]);
}

void set(block_order::knowledge& of, std::size_t threads, std::size_t thread, std::uint32_t clock) {
  if (!of)
    of = std::make_shared<block_order::clocks>(threads);
  else if (of.use_count() > 1)
    of = std::make_shared<block_order::clocks>(*of);
  (*of)[thread] = clock;
}

}  // namespace

void block_order::begin_block(std::size_t threads) {
  barrier();
  if (clock_.size() == threads && even_) return;  // a thread's two clocks are equal once it has returned
  even_ = true;
  clock_.assign(threads, 0);
  merged_clock_.assign(threads, 0);
}

void block_order::barrier() {
  if (!active_) return;
  active_ = false;
  threads_.clear();
  released_.clear();
  in_records_.clear();
}

/// Each lane of a warp knows the others' accesses before their last warp function.
void block_order::start() {
  if (active_) return;
  active_ = true;
  threads_.resize(clock_.size());
  for (std::size_t first = 0; first < clock_.size(); first += lanes_per_warp) {
    const auto of_warp = std::make_shared<clocks>(clock_.size());
    const std::size_t end = std::min(first + lanes_per_warp, clock_.size());
    for (std::size_t i = first; i < end; ++i) (*of_warp)[i] = clock_[i];
    for (std::size_t i = first; i < end; ++i) threads_[i].known = of_warp;
  }
}

std::uint64_t block_order::record(std::size_t thread, const knowledge& now_known) {
  std::uint64_t id = 0;
  if (now_known) {
    if (++last_record_ == 0) ++last_record_;
    id = last_record_;
    in_records_[last_record_] = now_known;
  }
  return id << 32 | clock_[thread];
}

bool block_order::learn(view& t, const knowledge& more) {
  if (!more || t.known == more || (t.known && covers(*t.known, *more))) return false;
  add(t.known, more);
  return true;
}

std::uint64_t block_order::release(std::size_t thread, std::uintptr_t flag) {
  start();
  even_ = false;
  auto& t = threads_[thread];
  knowledge& released = released_[flag];
  add(released, t.known);
  set(released, clock_.size(), thread, ++clock_[thread]);
  return record(thread, nullptr);
}

std::uint64_t block_order::acquire(std::size_t thread, std::uintptr_t flag) {
  if (!active_) return 0;
  const auto found = released_.find(flag);
  auto& t = threads_[thread];
  return found != released_.end() && learn(t, found->second) ? record(thread, t.known) : 0;
}

std::uint64_t block_order::fence(std::size_t thread) {
  start();
  even_ = false;
  auto& t = threads_[thread];
  const bool learned = learn(t, std::exchange(t.seen, nullptr));
  t.fenced = t.known;
  set(t.fenced, clock_.size(), thread, ++clock_[thread]);
  return record(thread, learned ? t.known : nullptr);
}

void block_order::load_flag(std::size_t thread, std::uintptr_t flag) {
  if (!active_) return;
  if (const auto found = released_.find(flag); found != released_.end()) add(threads_[thread].seen, found->second);
}

void block_order::store_flag(std::size_t thread, std::uintptr_t flag) {
  if (!active_) return;
  if (const knowledge& fenced = threads_[thread].fenced) add(released_[flag], fenced);
}

std::uint64_t block_order::update_flag(std::size_t thread, std::uintptr_t flag) {
  const std::uint64_t learned = acquire(thread, flag);
  store_flag(thread, flag);
  return learned;
}

void block_order::pass_on(std::uintptr_t from, std::uintptr_t to) {
  const auto found = released_.find(from);
  if (found == released_.end()) return;
  const knowledge all = std::move(found->second);
  released_.erase(found);
  add(released_[to], all);
}

void block_order::meet(std::size_t first, unsigned lanes) {
  knowledge all;
  even_ &= lanes == ~0u;
  for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
    const std::size_t i = first + static_cast<std::size_t>(__builtin_ctz(rest));
    ++clock_[i];
    if (!active_) continue;
    add(all, threads_[i].known);
    set(all, clock_.size(), i, clock_[i]);
  }
  for (unsigned rest = active_ ? lanes : 0; rest != 0; rest &= rest - 1) {
    auto& t = threads_[first + static_cast<std::size_t>(__builtin_ctz(rest))];
    t.known = all;
    t.just_met = true;
  }
}

std::uint64_t block_order::met(std::size_t thread) {
  if (!active_) return 0;
  auto& t = threads_[thread];
  return std::exchange(t.just_met, false) ? record(thread, t.known) : 0;
}

const block_order::clocks* block_order::known_after(std::uint64_t record) const {
  const auto found = in_records_.find(static_cast<std::uint32_t>(record >> 32));
  return found != in_records_.end() ? found->second.get() : nullptr;
}

void block_order::merge(std::size_t thread, std::uint64_t record) {
  auto& t = threads_[thread];
  merged_clock_[thread] = clock_after(record);
  if (const auto found = in_records_.find(static_cast<std::uint32_t>(record >> 32)); found != in_records_.end()) {
    t.merged = std::move(found->second);
    in_records_.erase(found);
  }
}

}  // namespace sim
