#include "forward.hpp"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>
#include <span>
#include <vector>
namespace lab08 {
namespace {
struct op { double flops = 0, weights = 0, activations = 0; };
op linear(double rows, double in, double out, bool bias) {
  return {2 * rows * in * out + bias * rows * out, in * out + bias * out, rows * (in + out)};
}
}
work block_work(block which, const shape& of, double bytes_each) {
  const auto& [B, T, C, L, NH, V] = of;
  const double rows = B * T, x = rows * C, scores = B * NH * T * T;
  std::vector<op> ops;
  using enum block;
  switch (which) {
    case embedding: ops = {{x, rows * C + T * C, x}}; break;
    case norm1: case norm2: case final_norm: ops = {{8 * x, 2 * C, 2 * x}}; break;
    case residual1: case residual2: ops = {{x, 0, 3 * x}}; break;
    case attention:
      ops = {linear(rows, C, 3 * C, true), {2 * B * T * T * C, 0, 2 * x + scores}, {6 * scores, 0, 2 * scores},
             {2 * B * T * T * C, 0, scores + 2 * x}, linear(rows, C, C, true)};
      break;
    case mlp: ops = {linear(rows, C, 4 * C, true), {9 * 4 * x, 0, 8 * x}, linear(rows, 4 * C, C, true)}; break;
    case logits: ops = {linear(rows, C, V, false)}; break;
  }
  work w;
  for (const auto& [f, we, a] : ops) w.flops += f, w.weight_bytes += we * bytes_each, w.activation_bytes += a * bytes_each;
  return w;
}
double cold_seconds(const work& w, const machine& on) {
  return std::max(w.flops / on.flops_per_second, (w.weight_bytes + w.activation_bytes) / on.dram_bytes_per_second);
}
double warm_seconds(const work& w, const machine& on) {
  return std::max({w.flops / on.flops_per_second, w.weight_bytes / on.dram_bytes_per_second,
                   (w.weight_bytes + w.activation_bytes) / on.l2_bytes_per_second});
}
bool memory_bound_cold(const work& w, const machine& on) { return cold_seconds(w, on) > w.flops / on.flops_per_second; }
bool memory_bound_warm(const work& w, const machine& on) { return warm_seconds(w, on) > w.flops / on.flops_per_second; }
double load_ratio(const loads& a, const loads& b) { return (a.global_ld + a.ldgsts) / (b.global_ld + b.ldgsts); }
double residual_stream_bytes(const shape& of, double e) { return of.layers * of.batch * of.tokens * of.channels * e; }
double percent_of_peak(const double* seconds, const double* percent, int n) {
  const double used = std::transform_reduce(seconds, seconds + n, percent, 0.0);
  return used / std::accumulate(seconds, seconds + n, 0.0);
}
double seconds_without_waits(const double* wall, int n, double wait) {
  auto each = std::span(wall, n) | std::views::transform([=](double w) { return std::max(0.0, w - wait); });
  return std::accumulate(each.begin(), each.end(), 0.0);
}
}
