// Two barriers for each operation: all begin together, and all end together.
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "host.hpp"

struct lab12::pool {
  explicit pool(int n) : begin(n + 1), end(n + 1) {
    for (int t = 0; t < n; ++t)
      threads.emplace_back([this] {
        while (begin.arrive_and_wait(), !over) {
          help();
          end.arrive_and_wait();
        }
      });
  }
  ~pool() {
    over = true;
    begin.arrive_and_wait();
    for (auto& t : threads) t.join();
  }
  void help() {
    for (int part; (part = next.fetch_add(1, std::memory_order_relaxed)) < parts;) (*work)(state, part);
  }
  void run(void (*f)(void*, int), void* s, int n) {
    work = f, state = s, parts = n, next = 0;
    begin.arrive_and_wait();
    help();
    end.arrive_and_wait();
  }

 private:
  std::barrier<> begin, end;
  std::atomic<int> next{0};
  int parts = 0;
  void (*work)(void*, int) = nullptr;
  void* state = nullptr;
  bool over = false;
  std::vector<std::thread> threads;
};

lab12::pool* lab12::start_pool(int threads) { return new pool(threads); }
void lab12::run(pool& p, void (*work)(void* state, int part), void* state, int parts) { p.run(work, state, parts); }
void lab12::stop_pool(pool* p) { delete p; }
