// Given: the same chain and its gradient on one core of this machine, stored and recomputed, as plain loops.
#pragma once

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace lab05 {

inline float cpu_sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

/// One training step of n elements, stored or recomputed; all arrays are allocated beforehand.
class cpu_chain {
 public:
  explicit cpu_chain(std::size_t n) : x_(n), first_(n), second_(n), out_(n), d_out_(n, 1.0f), d_x_(n) {
    for (std::size_t i = 0; i < n; ++i) x_[i] = static_cast<float>(i % 1009) / 63.0f - 8.0f;
  }

  void stored() {
    for (std::size_t i = 0; i < x_.size(); ++i) {
      first_[i] = cpu_sigmoid(x_[i]);
      second_[i] = cpu_sigmoid(first_[i]);
      out_[i] = cpu_sigmoid(second_[i]);
    }
    for (std::size_t i = 0; i < x_.size(); ++i) d_x_[i] = d_out_[i] * derivative(first_[i], second_[i]);
  }

  void recomputed() {
    for (std::size_t i = 0; i < x_.size(); ++i) out_[i] = cpu_sigmoid(cpu_sigmoid(cpu_sigmoid(x_[i])));
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const float first = cpu_sigmoid(x_[i]);
      d_x_[i] = d_out_[i] * derivative(first, cpu_sigmoid(first));
    }
  }

  /// This thread's CPU seconds for one call; the time of other threads does not count.
  double seconds(void (cpu_chain::*step)()) {
    const double start = now();
    (this->*step)();
    return now() - start;
  }

 private:
  static float derivative(float first, float second) {
    const float third = cpu_sigmoid(second);
    return third * (1 - third) * second * (1 - second) * first * (1 - first);
  }
  static double now() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }

  std::vector<float> x_, first_, second_, out_, d_out_, d_x_;
};

/// Time of the recomputed chain over that of the stored one: the median of 40 pairs. The calls of a pair are close in
/// time, so other load mostly slows both. Comparing the fastest call of each kind would be worse: one kind may have run
/// in a quiet moment and the other not. Every second pair runs in the opposite order.
inline double recomputed_over_stored(std::size_t n) {
  cpu_chain chain(n);
  std::vector<double> ratios;
  for (int i = 0; i < 20; ++i) {
    double stored = chain.seconds(&cpu_chain::stored), recomputed = chain.seconds(&cpu_chain::recomputed);
    ratios.push_back(recomputed / stored);
    recomputed = chain.seconds(&cpu_chain::recomputed), stored = chain.seconds(&cpu_chain::stored);
    ratios.push_back(recomputed / stored);
  }
  const auto middle = ratios.begin() + 20;
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

}  // namespace lab05
