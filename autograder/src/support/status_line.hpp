// Shows the current task and its duration: on a terminal in one line, updated each second; elsewhere not at all, or in
// an occasional line.
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace grading {

class status_line {
 public:
  /// Writes to `descriptor`; if that is not a terminal, a line every `seconds_elsewhere` seconds, 0 for none.
  explicit status_line(int descriptor = STDERR_FILENO, int seconds_elsewhere = 0);
  ~status_line();  ///< erases the line
  status_line(const status_line&) = delete;
  status_line& operator=(const status_line&) = delete;

  /// Sets the current task; "" for none. The same task keeps its clock.
  void show(const std::string& task, const std::string& detail = {});

 private:
  void tick();
  void write(bool wiped);

  int descriptor_, elsewhere_;
  bool terminal_, shown_ = false, ended_ = false;
  std::string task_, detail_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::mutex mine_;
  std::condition_variable changed_;
  std::thread clock_;
};

}  // namespace grading
