// jthreads that wait on an atomic, and a count of those that are through.
#include <atomic>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "host.hpp"

namespace lab12 {

struct job {
  void (*work)(void*, int);
  void* state;
  int parts;
  std::atomic<int> next{0}, ended{0};
  job(void (*w)(void*, int), void* s, int n) : work(w), state(s), parts(n) {}
  void help() {
    for (int part; (part = next++) < parts;) {
      work(state, part);
      if (++ended == parts) ended.notify_all();
    }
  }
};

struct pool {
  std::atomic<std::shared_ptr<job>> now;
  std::atomic<unsigned> round{0};
  std::atomic<bool> over{false};
  std::vector<std::jthread> threads;
};

pool* start_pool(int threads) {
  auto p = std::make_unique<pool>();
  for (int t = 0; t < threads; ++t)
    p->threads.emplace_back([self = p.get()] {
      for (unsigned seen = 0;;) {
        self->round.wait(seen);
        seen = self->round;
        if (self->over) return;
        if (const auto mine = self->now.load()) mine->help();
      }
    });
  return p.release();
}

void run(pool& p, void (*work)(void* state, int part), void* state, int parts) {
  if (parts < 1) return;
  const auto one = std::make_shared<job>(work, state, parts);
  p.now = one;
  ++p.round;
  p.round.notify_all();
  one->help();
  for (int ended; (ended = one->ended) < parts;) one->ended.wait(ended);
}

void stop_pool(pool* p) {
  p->over = true;
  ++p->round;
  p->round.notify_all();
  p->threads.clear();
  delete p;
}

}  // namespace lab12
