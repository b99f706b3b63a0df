// Asks for a moment before it sleeps, as OpenMP's libraries do.
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <atomic>
#include <list>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "host.hpp"

namespace lab12 {

static constexpr int patience = 200;

template <class T>
static T changed(const std::atomic<T>& what, T from) {
  for (int i = 0; i < patience; ++i) {
    if (T now = what.load(std::memory_order_acquire); now != from) return now;
#ifdef __x86_64__
    _mm_pause();
#endif
  }
  what.wait(from, std::memory_order_acquire);
  return what.load(std::memory_order_acquire);
}

struct pool {
  alignas(64) std::atomic<unsigned> round{0};
  alignas(64) std::atomic<int> next{0};
  alignas(64) std::atomic<int> inside{0};
  void (*work)(void*, int) = nullptr;
  void* state = nullptr;
  int parts = 0;
  bool quit = false;
  std::shared_mutex about;  // the operation: the caller writes, threads read
  std::list<std::thread> crew;

  void help() {
    for (int part; (part = next.fetch_add(1)) < parts;) work(state, part);
  }
};

static void serve(pool* p) {
  for (unsigned seen = 0;;) {
    seen = changed(p->round, seen);
    std::shared_lock reading(p->about);
    if (p->quit) return;
    p->inside.fetch_add(1);
    p->help();
    if (p->inside.fetch_sub(1) == 1) p->inside.notify_all();
  }
}

pool* start_pool(int threads) {
  auto* p = new pool();
  while (threads-- > 0) p->crew.emplace_back(serve, p);
  return p;
}

void run(pool& p, void (*work)(void* state, int part), void* state, int parts) {
  {
    std::unique_lock writing(p.about);
    p.work = work, p.state = state, p.parts = parts;
    p.next = 0;
    ++p.round;
  }
  p.round.notify_all();
  p.help();
  for (int n; (n = p.inside.load()) != 0;) changed(p.inside, n);
}

void stop_pool(pool* p) {
  {
    std::unique_lock writing(p->about);
    p->quit = true;
    ++p->round;
  }
  p->round.notify_all();
  for (auto& t : p->crew) t.join();
  delete p;
}

}  // namespace lab12
