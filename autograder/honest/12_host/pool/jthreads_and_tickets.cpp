// std::jthread and stop tokens, condition_variable_any, a ticket counter by atomics, packaged in RAII.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>
#include "host.hpp"

struct lab12::pool {
  explicit pool(int n) {
    for (int i = 0; i < n; ++i) threads_.emplace_back([this](std::stop_token stop) { serve(stop); });
  }
  void run(std::function<void(int)> f, int parts) {
    if (parts <= 0) return;
    std::unique_lock lock(mutex_);
    work_ = std::move(f), parts_ = parts, next_ = 0, left_ = parts, busy_ = static_cast<int>(threads_.size()), ++round_;
    wake_.notify_all();
    done_.wait(lock, [this] { return left_ == 0 && busy_ == 0; });
  }

 private:
  void serve(std::stop_token stop) {
    long seen = 0;
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stop, [&] { return round_ != seen; })) {
      seen = round_;
      lock.unlock();
      int count = 0;
      for (int part; (part = next_.fetch_add(1, std::memory_order_relaxed)) < parts_; ++count) work_(part);
      lock.lock();
      left_ -= count;
      if (--busy_ == 0) done_.notify_one();
    }
  }
  std::mutex mutex_;
  std::condition_variable_any wake_, done_;
  std::function<void(int)> work_;
  std::atomic<int> next_{0};
  int parts_ = 0, left_ = 0, busy_ = 0;
  long round_ = 0;
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

namespace lab12 {
pool* start_pool(int threads) { return std::make_unique<pool>(threads).release(); }
void run(pool& p, void (*work)(void* state, int part), void* state, int parts) { p.run([=](int part) { work(state, part); }, parts); }
void stop_pool(pool* p) { std::unique_ptr<pool>{p}.reset(); }
}  // namespace lab12
