// A benchmark that believes everything it is told. It times something; find out what, and what it should time.
#include "benchmark.hpp"

#include <algorithm>
#include <vector>

namespace lab02 {

timing benchmark(machine& m, const options& how) {
  // TODO(lab02.*): each item of the rubric is one way to deceive these lines.
  m.prepare(1);
  std::vector<double> seconds;
  for (int i = 0; i < how.least_samples; ++i) {
    const double start = m.wall_seconds();
    m.run(0);
    seconds.push_back(m.wall_seconds() - start);
  }
  timing out;
  out.samples = static_cast<int>(seconds.size());
  for (const double s : seconds) out.median_seconds += s / out.samples;  // that is not a median
  out.low_seconds = *std::min_element(seconds.begin(), seconds.end());
  out.high_seconds = *std::max_element(seconds.begin(), seconds.end());
  return out;
}

}  // namespace lab02
