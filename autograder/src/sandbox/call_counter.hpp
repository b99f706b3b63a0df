// Counts the system calls of a runner by name, exactly: the kernel asks us before it executes one (seccomp's user
// notification). The runner cannot undo this, and its threads inherit it. A call costs the runner two context switches,
// so a counted call is never timed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace grading {

class call_counter {
 public:
  /// Takes ownership of the descriptor, and lets every call pass from now on.
  explicit call_counter(int listener);
  ~call_counter();
  call_counter(const call_counter&) = delete;
  call_counter& operator=(const call_counter&) = delete;

  /// Counts from now until `done` is not 0. The calls after that wait for end(): a submission that sets `done` early
  /// gains nothing.
  void begin(const std::atomic<std::uint32_t>& done);
  /// The counts by name.
  std::map<std::string, double> end();

 private:
  void answer_all();

  int listener_, wake_;
  std::mutex mutex_;
  std::condition_variable ended_;
  const std::atomic<std::uint32_t>* done_ = nullptr;  ///< null: not counting
  std::map<int, std::uint64_t> counts_;
  bool closing_ = false;
  std::thread answers_;
};

}  // namespace grading
