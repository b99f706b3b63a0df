// Asynchronous copies that threads have started but not waited for.
#include "async.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "hooks.hpp"
#include "launches.hpp"
#include "sim/async.h"

namespace sim {

struct waiting_copy {
  void* to;
  const void* from;
  std::size_t bytes, zeros;
  const void* pc;
  const void* barrier;  // null: the thread waits for the copy's group instead
  std::uint64_t group;
};
struct thread_copies {
  std::vector<waiting_copy> copies;
  std::uint64_t committed = 0;
};

/// Indexed by thread of one launch's grid.
struct async_copies {
  std::size_t launch = 0;
  std::unordered_map<std::uint64_t, thread_copies> by_thread;
};

}  // namespace sim

// One per OS thread; a block never changes threads. Outside the namespace: program.cpp recognises our variables by the
// prefix sim_.
__thread sim::async_copies* sim_async_copies = nullptr;

namespace sim {
namespace {

thread_copies& mine() {
  if (!sim_async_copies) sim_async_copies = new async_copies;
  if (sim_async_copies->launch != launch_log().size() + 1) {
    sim_async_copies->by_thread.clear();
    sim_async_copies->launch = launch_log().size() + 1;
  }
  return sim_async_copies->by_thread[cooperative_groups::this_grid().thread_rank()];
}

template <class Due>
void make_copies(Due due) {
  std::vector<waiting_copy> now;
  {
    const unobserved guard;
    auto& waiting = mine().copies;
    const auto later = std::stable_partition(waiting.begin(), waiting.end(), due);
    now.assign(waiting.begin(), later);
    waiting.erase(waiting.begin(), later);
  }
  const waiting_copy* begin = now.data();
  for (std::size_t i = 0, n = now.size(); i < n; ++i) {
    const waiting_copy& c = begin[i];
    observe_copy_end(c.to, c.bytes, c.pc);
    std::memcpy(c.to, c.from, c.bytes - c.zeros);
    std::memset(static_cast<char*>(c.to) + (c.bytes - c.zeros), 0, c.zeros);
  }
  const unobserved guard;
  std::vector<waiting_copy>().swap(now);
}

}  // namespace

void copy_async(void* to, const void* from, std::size_t bytes, std::size_t zeros, const void* barrier, const void* pc) {
  zeros = std::min(zeros, bytes);
  if (zeros < bytes) observe_load(from, bytes, pc);
  observe_copy_begin(to, bytes, pc);
  const unobserved guard;
  thread_copies& own = mine();
  own.copies.push_back({to, from, bytes, zeros, pc, barrier, own.committed});
}
void commit_copies() {
  const unobserved guard;
  ++mine().committed;
}
void wait_for_copies(std::size_t groups) {
  std::uint64_t committed = 0;
  {
    const unobserved guard;
    committed = mine().committed;
  }
  make_copies([=](const waiting_copy& c) { return !c.barrier && c.group + groups < committed; });
}
bool copy_pending(std::uintptr_t address) {
  if (!sim_async_copies) return false;
  const auto& all = sim_async_copies->by_thread;
  return std::any_of(all.begin(), all.end(), [&](const auto& of_thread) {
    return std::any_of(of_thread.second.copies.begin(), of_thread.second.copies.end(), [&](const waiting_copy& c) {
      const auto begin = reinterpret_cast<std::uintptr_t>(c.to);
      return begin <= address && address < begin + c.bytes;
    });
  });
}
void make_barrier_copies(const void* barrier) {
  make_copies([=](const waiting_copy& c) { return c.barrier == barrier; });
}

}  // namespace sim
