// A chain: the caller wakes the first thread, and each thread that wakes up wakes the next while parts are left.
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "host.hpp"

using namespace std;

namespace lab12 {

class Job {
 public:
  Job(void (*work)(void*, int), void* state, int parts) : work_(work), state_(state), left_(parts), running_(0) {}
  bool hasMore() const { return left_ > 0; }
  bool isDone() const { return left_ == 0 && running_ == 0; }
  void runOne(unique_lock<mutex>& held) {
    const int part = --left_;  // from the last to the first
    running_++;
    held.unlock();
    (*work_)(state_, part);
    held.lock();
    running_--;
  }

 private:
  void (*work_)(void*, int);
  void* state_;
  int left_, running_;
};

struct pool {
  mutex guard;
  condition_variable morning, evening;
  Job* job = nullptr;
  bool closing = false;
  list<thread> workers;

  void workday() {
    unique_lock<mutex> held(guard);
    while (true) {
      while (!closing && !(job && job->hasMore())) morning.wait(held);
      if (closing) return;
      Job& mine = *job;
      while (true) {
        if (!mine.hasMore()) break;
        morning.notify_one();
        mine.runOne(held);
        if (mine.isDone()) {
          evening.notify_one();
          break;
        }
      }
    }
  }
};

pool* start_pool(int threads) {
  pool* p = new pool();
  while (threads-- > 0) p->workers.emplace_back(&pool::workday, p);
  return p;
}

void run(pool& p, void (*work)(void* state, int part), void* state, int parts) {
  if (parts == 0) return;
  Job today(work, state, parts);
  unique_lock<mutex> held(p.guard);
  p.job = &today;
  p.morning.notify_one();
  while (today.hasMore()) today.runOne(held);
  while (!today.isDone()) p.evening.wait(held);
  p.job = nullptr;
}

void stop_pool(pool* p) {
  {
    lock_guard<mutex> held(p->guard);
    p->closing = true;
    p->morning.notify_all();
  }
  for (auto& w : p->workers) w.join();
  delete p;
}

}  // namespace lab12
