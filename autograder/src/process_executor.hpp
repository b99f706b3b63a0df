// Runs requests in a runner process: started when first needed, killed when it takes too long, started again after.
#pragma once

#include <chrono>
#include <filesystem>

#include "executor.hpp"

namespace grading {

struct limits {
  std::chrono::milliseconds per_request{10'000};  ///< wall-clock time from sending a request to its whole answer
};

class process_executor : public executor {
 public:
  process_executor(std::filesystem::path runner, limits allowed);
  ~process_executor() override;

  std::span<std::byte> memory(std::size_t bytes) override;
  answer run(const lab::request& what) override;
  std::string output() override;

 private:
  void start();
  void stop();  ///< kills the runner and whatever it started
  void drain();
  answer ended();
  answer failed(answer::ending how, std::string why);

  std::filesystem::path runner_;
  limits allowed_;
  int memory_fd_ = -1;
  std::span<std::byte> memory_;
  int process_ = -1;   ///< -1: not running
  int death_fd_ = -1;  ///< readable once the process has ended
  int socket_ = -1;
  int printed_fd_ = -1;
  std::string printed_;
  std::size_t discarded_ = 0;
};

}  // namespace grading
