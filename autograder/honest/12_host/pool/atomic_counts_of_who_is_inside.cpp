// Threads wait for the number of the operation to change, and take parts from a counter. No mutex.
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "host.hpp"

namespace lab12 {

struct pool {
  struct job {
    void (*work)(void*, int) = nullptr;
    void* state = nullptr;
    int parts = 0;
  };
  alignas(64) std::atomic<std::uint32_t> operation{0};
  alignas(64) std::atomic<std::uint64_t> next{0};      // the next part
  alignas(64) std::atomic<int> inside{0};          // threads that have seen the operation and not left it
  alignas(64) std::atomic<int> finished{0};
  job now;
  std::atomic<bool> over{false};
  std::vector<std::jthread> threads;

  void take(job j) {
    int done = 0;
    for (;;) {
      const auto part = static_cast<int>(next.fetch_add(1, std::memory_order_relaxed));
      if (part >= j.parts) break;
      j.work(j.state, part);
      ++done;
    }
    if (done && finished.fetch_add(done, std::memory_order_acq_rel) + done == j.parts) finished.notify_one();
  }
  void live() {
    for (std::uint32_t seen = 0;;) {
      operation.wait(seen);
      seen = operation.load();
      if (over) return;
      take(now);
      if (inside.fetch_sub(1, std::memory_order_acq_rel) == 1) inside.notify_one();
    }
  }
};

namespace {
void wait_until(std::atomic<int>& n, int want) {
  for (int is; (is = n.load(std::memory_order_acquire)) != want;) n.wait(is);
}
}  // namespace

pool* start_pool(int threads) {
  auto p = std::make_unique<pool>();
  // The caller is one of them.
  for (int i = 1; i < threads; ++i) p->threads.emplace_back([at = p.get()] { at->live(); });
  return p.release();
}

void run(pool& p, void (*work)(void* state, int part), void* state, int parts) {
  if (parts <= 0) return;
  if (p.threads.empty() || parts == 1) {
    for (int i = 0; i < parts; ++i) work(state, i);
    return;
  }
  wait_until(p.inside, 0);  // none still looks at the operation before
  p.now = {work, state, parts};
  p.next = 0;
  p.finished = 0;
  p.inside = static_cast<int>(p.threads.size());
  ++p.operation;
  p.operation.notify_all();
  p.take(p.now);
  wait_until(p.finished, parts);
}

void stop_pool(pool* p) {
  wait_until(p->inside, 0);
  p->over = true;
  ++p->operation;
  p->operation.notify_all();
  delete p;
}

}  // namespace lab12
