// Given: twelve requests that arrive at once, for the predictions, and a longer day.
#pragma once

#include <cmath>
#include <random>

#include "account.hpp"

namespace lab15 {

/// Four slots, and pages for all requests. A step takes 20 ms, whichever requests run; prompts cost nothing.
inline workload trace() {
  workload w{4, 16, 64, 0.020, 0, 0, 0, {}};
  for (const int output : {3, 12, 2, 5, 9, 1, 4, 7, 2, 8, 3, 4}) w.requests.push_back({0.0, 20, output});
  return w;
}

/// 400 requests, 8 per second, prompts of 100 to 499 tokens, 150 new tokens on average; times between arrivals and
/// numbers of new tokens are exponentially distributed. 32 slots, 20 ms a step.
inline workload day(int pages) {
  workload w{32, 16, pages, 0.020, 0, 0, 0, {}};
  std::mt19937_64 bits(15);  // the same numbers with every compiler, unlike std::exponential_distribution
  const auto uniform = [&] { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; };
  double now = 0;
  for (int r = 0; r < 400; ++r) {
    now -= std::log(uniform()) / 8;
    const int prompt = 100 + static_cast<int>(400 * uniform());
    w.requests.push_back({now, prompt, 1 + static_cast<int>(-150 * std::log(uniform()))});
  }
  return w;
}

}  // namespace lab15
