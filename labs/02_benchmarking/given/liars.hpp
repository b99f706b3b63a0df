// A simulated machine: it computes every answer and reads no real clock, so each verdict is exact. The grader knows
// what the function under test costs and how it deceives. Read this file: a good benchmark works even if its author
// knows the lies. The machine runs in the grader's process, and each run chooses a new random duration for its
// function.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "benchmark.hpp"
#include "lab/splitmix.hpp"

namespace lab02 {

/// How a function deceives the code that times it.
struct behaviour {
  double seconds = 1e-3;      ///< what a call truly costs, caches warm
  double cold_extra = 0;      ///< additional cost if the caches are cold
  double slow_calls = 0;      ///< this many calls at the beginning...
  double slow_extra = 0;      ///< ...cost this much more
  double launch_seconds = 0;  ///< not 0: a call returns after this, and the work continues without it
  double wait_seconds = 0;    ///< a wait returns this long after the work has ended
  double second_stream = 0;   ///< share of the work that runs in another stream
  double lazy = 0;            ///< 1: nothing is computed unless its result is kept
  double memoises = 0;        ///< not 0: an input seen before costs this share of `seconds`
  double fault_seconds = 0;   ///< time of the first touch of a new input's memory
  double input_spread = 0;    ///< inputs cost up to this share more or less
  double noise = 0;           ///< calls cost up to this share more or less
  double outlier_every = 0;   ///< one call in this many...
  double outlier_factor = 1;  ///< ...takes this many times as long
  double slow_mode = 1;       ///< two calls in five truly cost this many times as much
  double tick = 1e-9;         ///< the resolution of the steady clock
  double wall_rate = 1;       ///< how fast the wall clock runs
  double wall_jump = 0;       ///< every 10 ms it is set back by this much
  double throttle_after = 0;  ///< not 0: after this many busy seconds without a rest the clock rate falls...
  double throttle_share = 1;  ///< ...to this share, until it has rested ten times as long, all at once or in pieces
  double best_share = 1;      ///< the clock rate while it is not throttled
};

class simulated_machine : public machine {
 public:
  simulated_machine(const behaviour& how, std::uint64_t seed) : how_(how), state_(seed) {}

  /// The clocks at the start: the machine has already run for over a day, so a float cannot hold its time.
  static constexpr double switched_on_seconds = 1e5;

  double wall_seconds() override {
    read_a_clock();
    return now_ * how_.wall_rate - std::floor(now_ / 0.01) * how_.wall_jump;
  }
  double steady_seconds() override {
    read_a_clock();
    return std::floor(now_ / how_.tick) * how_.tick;
  }
  double clock_share() override { return throttled() ? how_.throttle_share : how_.best_share; }

  void prepare(int count) override {
    prepared_ += std::max(count, 0);
    if (prepared_ > most_calls) count = 0;
    inputs_.resize(static_cast<std::size_t>(std::max(count, 0)));
    for (input& i : inputs_) i = {false, false, uniform()};
    untouched_ = true;
    now_ += 1e-7 * std::max(count, 0);
  }
  void touch() override {
    if (untouched_)
      for (input& i : inputs_) fault(i);
    untouched_ = false;
    warm_ = true;
  }
  void flush_caches() override {
    warm_ = false;
    first_stream_ = std::max(now_, first_stream_) + 1e-4;
  }
  void rest(double seconds) override {
    if (!(seconds > 0)) return;  // time does not run backwards, and NaN is not a time
    now_ += seconds;
    rested_ += seconds;
    if (rested_ >= 10 * how_.throttle_after) busy_ = 0;
  }

  result run(int i) override {
    ++calls;
    timed_ = true;
    if (how_.lazy != 0 && calls <= most_calls) pending_.push_back(0);
    if (i < 0 || static_cast<std::size_t>(i) >= inputs_.size() || calls > most_calls) {
      ++misuses;
      return {calls};
    }
    now_ += how_.launch_seconds;
    const double cost = cost_of(inputs_[static_cast<std::size_t>(i)]);
    if (how_.lazy != 0)
      pending_.back() = cost;
    else
      spend(cost);
    return {calls};
  }
  void keep(result r) override {
    if (r.value < 1 || static_cast<std::size_t>(r.value) > pending_.size()) return;
    spend(std::exchange(pending_[static_cast<std::size_t>(r.value) - 1], 0.0));
  }
  void run_nothing() override { now_ += how_.launch_seconds; }
  void wait_for_stream() override { now_ = std::max(now_, first_stream_) + how_.wait_seconds; }
  void wait_for_device() override { now_ = std::max({now_, first_stream_, second_stream_}) + how_.wait_seconds; }

  int calls = 0, outliers = 0;
  int misuses = 0;                    ///< runs on an input that was not prepared
  int timings = 0;                    ///< clock readings after a run
  int throttled_calls = 0;            ///< calls throttled for some or all of their time
  std::vector<int> throttled_series;  ///< the last call of each series of throttled calls without a rest
  double elapsed() const { return now_; }
  int clock_reads = 0;
  static constexpr int most_clock_reads = 1 << 15;  ///< each one is a request to the grader
  static constexpr int most_calls = 1 << 23;        ///< more than a benchmark needs, few enough for the grader

 private:
  static constexpr double read_clock = 2e-8;
  struct input {
    bool touched = false, seen = false;
    double draw = 0;  ///< in [-1, 1)
  };

  /// In [-1, 1).
  double uniform() { return static_cast<double>(lab::splitmix64(state_) >> 11) * 0x1p-52 - 1; }

  void read_a_clock() {
    now_ += ++clock_reads > most_clock_reads ? 1.0 : read_clock;  // so that every budget runs out
    timings += std::exchange(timed_, false);
  }

  bool throttled() const { return how_.throttle_after > 0 && busy_ > how_.throttle_after; }

  void fault(input& in) {
    if (!in.touched) now_ += how_.fault_seconds;
    in.touched = true;
  }

  double cost_of(input& in) {
    double cost = how_.seconds * (1 + how_.input_spread * in.draw) * (1 + how_.noise * uniform());
    if (how_.slow_mode != 1 && (calls % 5 == 2 || calls % 5 == 4)) cost *= how_.slow_mode;
    if (!warm_) cost += how_.cold_extra;
    if (calls <= how_.slow_calls) cost += how_.slow_extra;
    if (how_.outlier_every > 0 && std::fmod(calls, how_.outlier_every) == 0) ++outliers, cost *= how_.outlier_factor;
    if (how_.memoises != 0 && in.seen) cost = how_.memoises * how_.seconds;
    if (!in.touched) cost += how_.fault_seconds;
    in.touched = in.seen = warm_ = true;
    if (how_.throttle_after > 0) cost = throttled_cost(cost);
    rested_ = 0;
    return cost;
  }

  /// The duration of work that takes `cost` at the full clock rate. The rate may fall in the middle of it.
  double throttled_cost(double cost) {
    const double fast = std::clamp(how_.throttle_after - busy_, 0.0, cost);
    const double all = fast + (cost - fast) * how_.best_share / how_.throttle_share;
    busy_ += all;
    if (fast == cost) return all;
    ++throttled_calls;
    if (throttled_series.empty() || rested_ > 0) throttled_series.push_back(0);
    throttled_series.back() = calls;
    return all;
  }

  /// The work itself: it starts after the earlier work in its streams. If the function launches nothing, the caller
  /// waits for it.
  void spend(double cost) {
    if (how_.launch_seconds == 0) {
      now_ = std::max(now_, first_stream_) + cost;
      return;
    }
    first_stream_ = std::max(now_, first_stream_) + cost * (1 - how_.second_stream);
    if (how_.second_stream > 0)
      second_stream_ = std::max({now_, first_stream_, second_stream_}) + cost * how_.second_stream;
  }

  behaviour how_;
  std::uint64_t state_;
  std::vector<input> inputs_;
  std::vector<double> pending_;
  double now_ = switched_on_seconds, busy_ = 0, rested_ = 0, first_stream_ = 0, second_stream_ = 0;
  std::int64_t prepared_ = 0;
  bool warm_ = false, untouched_ = false, timed_ = false;
};

}  // namespace lab02
