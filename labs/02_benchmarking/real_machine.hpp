// Lab 02, given: this very computer, as a benchmark sees it. Which function it runs, and on what, says who derives from
// it.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "benchmark.hpp"

namespace lab02 {

class real_machine : public machine {
 public:
  double wall_seconds() override { return seconds<std::chrono::system_clock>(); }
  double steady_seconds() override { return seconds<std::chrono::steady_clock>(); }
  double clock_share() override { return 1; }  // no program can ask for it everywhere
  void flush_caches() override {}              // only warm calls are asked for here
  void rest(double wanted) override { std::this_thread::sleep_for(std::chrono::duration<double>(wanted)); }
  void keep(result r) override { kept_ = kept_ + r.value; }
  void run_nothing() override {}
  void wait_for_stream() override {}
  void wait_for_device() override {}

 private:
  template <class clock>
  static double seconds() {
    return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
  }
  volatile std::int64_t kept_ = 0;
};

}  // namespace lab02
