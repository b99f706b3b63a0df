#include "host_functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "access.hpp"
#include "faults.hpp"
#include "heap.hpp"
#include "hooks.hpp"
#include "lines.hpp"
#include "program.hpp"
#include "sim/host_accesses.hpp"

namespace sim {
namespace {

/// During its lifetime no accesses are reported: this file may use the program's instrumented copies of library
/// functions.
for_now<sim_host_watcher*> untold() { return {sim_host_watch, nullptr}; }

constexpr std::size_t most_ranges = 4096;  // per function, and in total

struct range {
  std::uintptr_t begin = 0, end = 0;
  std::uint64_t site = 0;  // of the function's first access
  bool stores = false;
  std::size_t stream = 0;
  std::uint32_t work_item = 0;
  bool overlaps(std::uintptr_t address, std::size_t bytes) const { return begin < address + bytes && address < end; }
};

/// The memory of host functions that may still be running.
struct {
  std::mutex mutex;
  std::vector<range> ranges;
  std::uintptr_t low = ~std::uintptr_t{0}, high = 0;  // the bounds of all ranges
  void settle() {
    low = ~std::uintptr_t{0};
    high = 0;
    for (const range& r : ranges) {
      low = std::min(low, r.begin);
      high = std::max(high, r.end);
    }
  }
} pending;

/// Records the memory that a host function uses, while it runs.
struct recorder : sim_host_watcher {
  explicit recorder(sim_host_watcher* other) : before(other) {}
  void see(std::uintptr_t address, std::size_t bytes, bool store) override {
    const auto quiet = untold();
    if (before) before->see(address, bytes, store);
    if (site_strength(sim_host_site) != strength::plain) {
      signals |= store;
      return;
    }
    if (!ranges.empty() && ranges.back().stores == store && address == ranges.back().end) {
      ranges.back().end += bytes;
      return;
    }
    for (std::size_t i = ranges.size(); i-- > 0 && i + 8 > ranges.size();)  // the last few: a loop's
      if (ranges[i].stores == store && ranges[i].begin <= address && address + bytes <= ranges[i].end) return;
    if (ranges.size() < most_ranges) ranges.push_back({address, address + bytes, sim_host_site, store});
  }
  sim_host_watcher* before;
  std::vector<range> ranges;
  bool signals = false;  // the function has stored to an atomic or volatile variable, or woken other threads
};
// The symbols of our thread-locals begin with sim_: others are the program's shared arrays.
thread_local recorder* recording __asm__("sim_recording") = nullptr;

// The listener that received this thread's accesses before the checker.
thread_local sim_host_watcher* before_checker __asm__("sim_before_checker") = nullptr;

/// Checks host code against host functions that may not have ended.
struct checker : sim_host_watcher {
  void see(std::uintptr_t address, std::size_t bytes, bool store) override {
    auto quiet = untold();
    if (before_checker) before_checker->see(address, bytes, store);
    const std::scoped_lock lock(pending.mutex);
    if (pending.ranges.empty()) {
      quiet.then = before_checker;
      return;
    }
    if (address + bytes <= pending.low || pending.high <= address) return;
    if (site_strength(sim_host_site) != strength::plain) return;
    const auto found = std::find_if(pending.ranges.begin(), pending.ranges.end(),
                                    [&](const range& r) { return (store || r.stores) && r.overlaps(address, bytes); });
    if (found == pending.ranges.end()) return;
    const auto text = [](std::uint64_t site) {
      const source_line at = line_of(site_pc(site));
      return fmt::format("{}:{}", at.file, at.line);
    };
    note_fault_of_call(
        fmt::format("{}: host code {} what a host function of a stream may still {}, at {}: it runs once its stream "
                    "reaches it; wait for the stream first, for example with cudaStreamSynchronize(){}",
                    text(sim_host_site), store ? "stores to" : "loads", found->stores ? "store to" : "load",
                    text(found->site), store ? ", or give each call its own data" : ""));
    const auto stream = found->stream;  // one report per item; clang 14 cannot capture structured bindings
    const auto item = found->work_item;
    std::erase_if(pending.ranges, [&](const range& r) { return r.stream == stream && r.work_item == item; });
    pending.settle();
  }
} beside;

}  // namespace

void tell_watcher(std::uintptr_t address, std::size_t bytes, bool store) {
  sim_host_watcher* const who = sim_host_watch == &beside ? before_checker : sim_host_watch;
  const auto quiet = untold();
  if (who) who->see(address, bytes, store);
}

bool watch_host_function(std::size_t stream, std::uint32_t work_item, const std::function<void()>& function) {
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  recorder mine(sim_host_watch == &beside ? before_checker : sim_host_watch);
  auto quiet = untold();
  recorder* const outer = recording;
  {
    const for_now<recorder*> records(recording, &mine);
    const for_now<sim_host_watcher*> watches(sim_host_watch, &mine);
    function();
  }
  if (outer || mine.signals) return mine.signals;
  // Exclude the function's own variables, and the heap, whose memory may have been freed and reused.
  const program_range stack = mine.ranges.empty() ? program_range{} : stack_of_thread();
  std::erase_if(mine.ranges, [&](const range& r) {
    return (r.begin < frame || r.begin >= stack.begin + stack.bytes) && r.begin - heap_base >= heap_bytes &&
           !is_host_variable(r.begin);
  });
  if (mine.ranges.empty()) return false;
  const std::scoped_lock lock(pending.mutex);
  if (pending.ranges.size() > most_ranges) pending.ranges.clear();
  for (range r : mine.ranges) {
    r.stream = stream;
    r.work_item = work_item;
    pending.ranges.push_back(r);
  }
  pending.settle();
  if (quiet.then != &beside) before_checker = std::exchange(quiet.then, &beside);
  return false;
}

void end_host_functions(const std::function<bool(std::size_t, std::uint32_t)>& is_over) {
  const auto quiet = untold();
  const std::scoped_lock lock(pending.mutex);
  if (pending.ranges.empty()) return;
  std::erase_if(pending.ranges, [&](const range& r) { return is_over(r.stream, r.work_item); });
  pending.settle();
}

void note_host_signal() {
  if (recording) recording->signals = true;
}

}  // namespace sim
