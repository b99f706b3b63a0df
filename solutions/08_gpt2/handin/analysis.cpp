// What each block must do, the minimum time for it on a given machine, and the study's figures, corrected.
#include <algorithm>

#include "forward.hpp"

namespace lab08 {

work block_work(block which, const shape& of, double bytes_each) {
  const double c = of.channels, x = of.batch * of.tokens * c;           // elements of an activation
  const double scores = of.batch * of.heads * of.tokens * of.tokens;    // of all heads
  const double head_flops = 2 * of.batch * of.tokens * of.tokens * c;   // of scores, or of weighted values
  const auto linear = [&](double outputs) { return 2 * x * outputs; };  // without bias
  const auto counted = [&](double flops, double weights, double activations) {
    return work{flops, bytes_each * weights, bytes_each * activations};
  };
  switch (which) {
    case block::embedding: return counted(x, x + of.tokens * c, x);
    case block::norm1:
    case block::norm2:
    case block::final_norm: return counted(8 * x, 2 * c, x + x);
    case block::residual1:
    case block::residual2: return counted(x, 0, x + x + x);
    case block::attention:
      return counted((linear(3 * c) + 3 * x) + head_flops + 6 * scores + head_flops + (linear(c) + x),
                     (3 * c * c + 3 * c) + (c * c + c),
                     (x + 3 * x)              // QKV
                         + (2 * x + scores)   // queries, keys -> scores
                         + (scores + scores)  // softmax
                         + (scores + x + x)   // scores, values -> sums
                         + (x + x));          // projection
    case block::mlp:
      return counted((linear(4 * c) + 4 * x) + 9 * 4 * x + (linear(4 * c) + x), (4 * c * c + 4 * c) + (4 * c * c + c),
                     (x + 4 * x) + (4 * x + 4 * x) + (4 * x + x));
    case block::logits:
      return counted(linear(of.vocabulary), of.vocabulary * c, x + of.batch * of.tokens * of.vocabulary);
  }
  return {};
}

namespace {

double bytes(const work& w) { return w.weight_bytes + w.activation_bytes; }
double compute_seconds(const work& w, const machine& on) { return w.flops / on.flops_per_second; }
double memory_seconds_cold(const work& w, const machine& on) { return bytes(w) / on.dram_bytes_per_second; }
double memory_seconds_warm(const work& w, const machine& on) {
  return std::max(w.weight_bytes / on.dram_bytes_per_second, bytes(w) / on.l2_bytes_per_second);
}

}  // namespace

double cold_seconds(const work& w, const machine& on) {
  return std::max(compute_seconds(w, on), memory_seconds_cold(w, on));
}
double warm_seconds(const work& w, const machine& on) {
  return std::max(compute_seconds(w, on), memory_seconds_warm(w, on));
}
bool memory_bound_cold(const work& w, const machine& on) { return memory_seconds_cold(w, on) > compute_seconds(w, on); }
bool memory_bound_warm(const work& w, const machine& on) { return memory_seconds_warm(w, on) > compute_seconds(w, on); }

double load_ratio(const loads& a, const loads& b) { return (a.global_ld + a.ldgsts) / (b.global_ld + b.ldgsts); }

double residual_stream_bytes(const shape& of, double bytes_each) {
  return of.layers * of.batch * of.tokens * of.channels * bytes_each;
}

double percent_of_peak(const double* seconds, const double* percent, int n) {
  double used = 0, time = 0;
  for (int i = 0; i < n; ++i) used += seconds[i] * percent[i], time += seconds[i];
  return used / time;
}

double seconds_without_waits(const double* wall, int n, double wait) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += std::max(0.0, wall[i] - wait);
  return sum;
}

}  // namespace lab08
