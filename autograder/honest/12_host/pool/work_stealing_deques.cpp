// A deque for each thread; one that has none left steals from the back of another's. The caller steals, too.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "host.hpp"

namespace {

class queue {
 public:
  void push(int part) {
    const std::scoped_lock held(lock_);
    parts_.push_back(part);
  }
  std::optional<int> pop(bool steal) {
    const std::scoped_lock held(lock_);
    if (parts_.empty()) return std::nullopt;
    const int part = steal ? parts_.back() : parts_.front();
    steal ? parts_.pop_back() : parts_.pop_front();
    return part;
  }

 private:
  std::mutex lock_;
  std::deque<int> parts_;
};

}  // namespace

namespace lab12 {

struct pool {
  explicit pool(int n) : queues(static_cast<std::size_t>(n)) {
    for (std::size_t t = 0; t < queues.size(); ++t) threads.emplace_back([this, t](std::stop_token s) { serve(s, t); });
  }
  std::optional<int> find(std::size_t first) {
    for (std::size_t k = 0; k < queues.size(); ++k)
      if (auto part = queues[(first + k) % queues.size()].pop(k > 0)) return part;
    return std::nullopt;
  }
  void help(std::size_t first) {
    while (const auto part = find(first)) {
      work(state, *part);
      if (left.fetch_sub(1) == 1) left.notify_all();
    }
  }
  void serve(const std::stop_token& stop, std::size_t t) {
    unsigned seen = 0;
    while (true) {
      {
        std::unique_lock held(lock);
        if (!wake.wait(held, stop, [&] { return round != seen; })) return;
        seen = round;
      }
      help(t);
    }
  }

  std::vector<queue> queues;
  std::mutex lock;
  std::condition_variable_any wake;
  unsigned round = 0;
  std::atomic<int> left = 0;
  void (*work)(void*, int) = nullptr;
  void* state = nullptr;
  std::vector<std::jthread> threads;  // the last, so that they end first
};

pool* start_pool(int threads) { return std::make_unique<pool>(threads).release(); }

void run(pool& p, void (*work)(void* state, int part), void* state, int parts) {
  if (parts == 0) return;
  {
    const std::lock_guard held(p.lock);
    p.work = work;
    p.state = state;
    p.left = parts;
    for (int part = 0; part < parts; ++part) p.queues[static_cast<std::size_t>(part) % p.queues.size()].push(part);
    ++p.round;
  }
  p.wake.notify_all();
  p.help(0);
  for (int left; (left = p.left) > 0;) p.left.wait(left);
}

void stop_pool(pool* p) { const std::unique_ptr<pool> last(p); }

}  // namespace lab12
