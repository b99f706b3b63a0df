// Threads that sleep until there is work. A thread that is awake takes the next part, and so does the caller.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "host.hpp"

namespace lab12 {

struct pool {
  std::mutex lock;
  std::condition_variable wake, idle;
  // Under the lock, except `next`.
  void (*work)(void*, int) = nullptr;
  void* state = nullptr;
  int parts = 0;
  std::atomic<int> next = 0;  ///< the first part that is not taken
  int busy = 0;               ///< threads that may still take or run parts
  std::uint64_t round = 0;
  bool ends = false;
  std::vector<std::thread> threads;

  void take_parts() {
    for (int part; (part = next.fetch_add(1)) < parts;) work(state, part);
  }

  //! [worker]
  void serve() {
    std::uint64_t seen = 0;
    std::unique_lock held(lock);
    for (;;) {
      wake.wait(held, [&] { return round != seen || ends; });
      if (ends) return;
      seen = round;
      if (next >= parts) continue;  // it overslept: the others have done everything
      ++busy;
      held.unlock();
      take_parts();
      held.lock();
      if (--busy == 0) idle.notify_one();
    }
  }
  //! [worker]
};

pool* start_pool(int threads) {
  auto* const p = new pool;
  for (int t = 0; t < threads; ++t) p->threads.emplace_back([p] { p->serve(); });
  return p;
}

//! [run]
void run(pool& p, void (*work)(void* state, int part), void* state, int parts) {
  if (parts <= 0) return;
  {
    const std::lock_guard held(p.lock);
    p.work = work;
    p.state = state;
    p.parts = parts;
    p.next = 0;
    ++p.round;
  }
  p.wake.notify_all();
  p.take_parts();
  std::unique_lock held(p.lock);
  p.idle.wait(held, [&] { return p.busy == 0; });
}
//! [run]

void stop_pool(pool* p) {
  {
    const std::lock_guard held(p->lock);
    p->ends = true;
  }
  p->wake.notify_all();
  for (std::thread& one : p->threads) one.join();
  delete p;
}

}  // namespace lab12
