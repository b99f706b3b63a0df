// Lab 02, given: this computer, as a benchmark sees it. Derived classes define the function that runs.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>

#include "benchmark.hpp"
#include "lab/ceilings.hpp"

namespace lab02 {

class real_machine : public machine {
 public:
  double wall_seconds() override { return seconds<std::chrono::system_clock>(); }
  double steady_seconds() override { return seconds<std::chrono::steady_clock>(); }
  double clock_share() override { return 1; }  // no portable program can read it
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

/// Dependent multiplications: their time is the CPU's latency, which neither compilers nor addresses change.
/// The steady clock is this thread's CPU time plus its rests, so it stops while other threads use the core.
class chain : public real_machine {
 public:
  explicit chain(std::int64_t length) : length_(length) {}
  double steady_seconds() override {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return rested_ + static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  void rest(double wanted) override {
    real_machine::rest(wanted);
    rested_ += wanted;
  }
  void prepare(int count) override { start_ += static_cast<std::uint64_t>(count); }
  void touch() override {}
  result run(int) override {
    std::uint64_t x = start_;
    for (std::int64_t i = 0; i < length_; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
    return {static_cast<std::int64_t>(x)};
  }

 private:
  std::int64_t length_;
  std::uint64_t start_ = 1;
  double rested_ = 0;
};

/// Multiply-adds; each input needs a different number of them: `rounds` of the first input, the second and so on,
/// cyclically. Each call continues with the previous call's values, so the last values reveal the number of rounds.
class uneven : public real_machine {
 public:
  uneven(std::span<float> values, std::span<const float> constants, std::span<const std::int64_t> rounds)
      : values_(values), constants_(constants), rounds_(rounds) {}
  double wall_seconds() override { return read(real_machine::wall_seconds()); }
  double steady_seconds() override { return read(real_machine::steady_seconds()); }
  void prepare(int count) override {
    first_ += static_cast<std::size_t>(prepared_);
    prepared_ = std::max(count, 0);
  }
  void touch() override {}
  result run(int i) override {
    if (i < 0 || i >= prepared_) {
      ++misuses;
      return {};
    }
    const std::int64_t more = rounds_[(first_ + static_cast<std::size_t>(i)) % rounds_.size()];
    lab::fma_chains(values_.data(), values_.data(), constants_.data(), values_.size(), more);
    all_rounds += more;
    timed_ = true;
    return {++calls};
  }

  std::int64_t calls = 0, all_rounds = 0;
  std::int64_t timings = 0;  ///< clock readings after a run
  std::int64_t misuses = 0;  ///< runs on an input that was not prepared

 private:
  double read(double clock) {
    timings += std::exchange(timed_, false);
    return clock;
  }

  std::span<float> values_;
  std::span<const float> constants_;
  std::span<const std::int64_t> rounds_;
  std::size_t first_ = 0;
  int prepared_ = 0;
  bool timed_ = false;
};

}  // namespace lab02
