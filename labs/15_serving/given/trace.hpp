// Given: twelve requests that come at once, for the predictions.
#pragma once

#include "account.hpp"

namespace lab15 {

/// Four slots, and pages for all. A step takes 20 ms, whichever requests run; prompts cost nothing.
inline workload trace() {
  workload w{4, 16, 64, 0.020, 0, 0, 0, {}};
  for (const int output : {3, 12, 2, 5, 9, 1, 4, 7, 2, 8, 3, 4}) w.requests.push_back({0.0, 20, output});
  return w;
}

}  // namespace lab15
