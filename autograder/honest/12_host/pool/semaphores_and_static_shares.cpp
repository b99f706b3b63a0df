// A semaphore for each thread, a fixed share of the parts for each, and a latch at the end.
#include <array>
#include <latch>
#include <optional>
#include <semaphore>
#include <thread>

#include "host.hpp"

namespace lab12 {

struct worker {
  std::binary_semaphore go{0};
  std::thread thread;
};

struct pool {
  int threads = 0;
  std::array<worker, 8> workers;
  void (*work)(void*, int) = nullptr;
  void* state = nullptr;
  int parts = 0;
  bool over = false;
  std::optional<std::latch> through;
};

pool* start_pool(int threads) {
  pool* p = new pool;
  p->threads = threads;
  for (int t = 0; t < threads; ++t)
    p->workers[static_cast<std::size_t>(t)].thread = std::thread([p, t] {
      for (;;) {
        p->workers[static_cast<std::size_t>(t)].go.acquire();
        if (p->over) return;
        for (int part = t; part < p->parts; part += p->threads) p->work(p->state, part);
        p->through->count_down();
      }
    });
  return p;
}

void run(pool& p, void (*work)(void* state, int part), void* state, int parts) {
  p.work = work, p.state = state, p.parts = parts;
  p.through.emplace(p.threads);
  for (int t = 0; t < p.threads; ++t) p.workers[static_cast<std::size_t>(t)].go.release();
  p.through->wait();
}

void stop_pool(pool* p) {
  p->over = true;
  for (int t = 0; t < p->threads; ++t) {
    p->workers[static_cast<std::size_t>(t)].go.release();
    p->workers[static_cast<std::size_t>(t)].thread.join();
  }
  delete p;
}

}  // namespace lab12
