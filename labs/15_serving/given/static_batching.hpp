// Given: static batching. A batch is filled, and runs until its longest request ends. No request is preempted, so there
// must be pages for all texts of a batch.
#pragma once

#include <vector>

#include "serving.hpp"

namespace lab15 {

inline void serve_in_batches(engine& e) {
  for (int next = 0; next < e.requests();) {
    if (e.arrived() == next) e.wait();
    std::vector<int> batch;
    for (; next < e.arrived() && static_cast<int>(batch.size()) < e.slots(); ++next) {
      e.admit(next);
      batch.push_back(next);
    }
    const auto any_runs = [&] {
      for (const int r : batch)
        if (!e.finished(r)) return true;
      return false;
    };
    while (any_runs()) e.step();
  }
}

}  // namespace lab15
