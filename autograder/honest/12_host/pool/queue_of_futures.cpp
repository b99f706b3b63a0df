// The pool of every blog: a queue of std::function, a future for each task.
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "host.hpp"

class ThreadPool {
 public:
  explicit ThreadPool(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
      workers_.emplace_back([this] {
        while (true) {
          std::function<void()> task;
          {
            std::unique_lock<std::mutex> lock(mutex_);
            cv_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
            if (stop_ && tasks_.empty()) return;
            task = std::move(tasks_.front());
            tasks_.pop();
          }
          task();
        }
      });
  }
  template <class F>
  std::future<void> enqueue(F&& f) {
    auto task = std::make_shared<std::packaged_task<void()>>(std::forward<F>(f));
    std::future<void> result = task->get_future();
    {
      std::unique_lock<std::mutex> lock(mutex_);
      tasks_.emplace([task] { (*task)(); });
    }
    cv_.notify_one();
    return result;
  }
  ~ThreadPool() {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      stop_ = true;
    }
    cv_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

 private:
  std::vector<std::thread> workers_;
  std::queue<std::function<void()>> tasks_;
  std::mutex mutex_;
  std::condition_variable cv_;
  bool stop_ = false;
};

struct lab12::pool : ThreadPool {
  using ThreadPool::ThreadPool;
};

lab12::pool* lab12::start_pool(int threads) { return new pool(static_cast<std::size_t>(threads)); }

void lab12::run(pool& p, void (*work)(void* state, int part), void* state, int parts) {
  std::vector<std::future<void>> all;
  for (int i = 0; i < parts; ++i) all.push_back(p.enqueue([=] { work(state, i); }));
  for (auto& one : all) one.get();
}

void lab12::stop_pool(pool* p) { delete p; }
