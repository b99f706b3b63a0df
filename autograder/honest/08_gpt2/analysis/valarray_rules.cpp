#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <valarray>
#include "forward.hpp"

namespace lab08 {

using vec = std::valarray<double>;  // FLOPs, weights, activations

static const std::map<block, std::function<vec(const shape&)>> rules = [] {
  const auto linear = [](double rows, double in, double out, bool bias) -> vec {
    return {2 * rows * in * out + bias * rows * out, in * out + bias * out, rows * (in + out)};
  };
  const auto norm = [](const shape& s) -> vec {
    const double n = s.batch * s.tokens * s.channels;
    return {8 * n, 2 * s.channels, 2 * n};
  };
  const auto residual = [](const shape& s) -> vec {
    const double n = s.batch * s.tokens * s.channels;
    return {n, 0., 3 * n};
  };
  const auto attention = [=](const shape& s) -> vec {
    const double rows = s.batch * s.tokens, n = rows * s.channels, scores = rows * s.tokens * s.heads;
    const vec product{2 * n * s.tokens, 0., 2 * n + scores};
    return linear(rows, s.channels, 3 * s.channels, true) + product + vec{6 * scores, 0., 2 * scores} + product +
           linear(rows, s.channels, s.channels, true);
  };
  const auto mlp = [=](const shape& s) -> vec {
    const double rows = s.batch * s.tokens, wide = rows * 4 * s.channels;
    return linear(rows, s.channels, 4 * s.channels, true) + vec{9 * wide, 0., 2 * wide} + linear(rows, 4 * s.channels, s.channels, true);
  };
  return std::map<block, std::function<vec(const shape&)>>{
      {block::embedding,
       [](const shape& s) -> vec {
         const double n = s.batch * s.tokens * s.channels;
         return {n, n + s.tokens * s.channels, n};
       }},
      {block::norm1, norm},       {block::norm2, norm},         {block::final_norm, norm}, {block::residual1, residual},
      {block::residual2, residual}, {block::attention, attention}, {block::mlp, mlp},
      {block::logits, [=](const shape& s) { return linear(s.batch * s.tokens, s.channels, s.vocabulary, false); }}};
}();

work block_work(block which, const shape& of, double bytes_each) {
  const vec w = rules.at(which)(of);
  return {w[0], w[1] * bytes_each, w[2] * bytes_each};
}

double cold_seconds(const work& w, const machine& on) {
  return std::max(w.flops / on.flops_per_second, (w.weight_bytes + w.activation_bytes) / on.dram_bytes_per_second);
}
double warm_seconds(const work& w, const machine& on) {
  const vec times{w.flops / on.flops_per_second, w.weight_bytes / on.dram_bytes_per_second,
                  (w.weight_bytes + w.activation_bytes) / on.l2_bytes_per_second};
  return times.max();
}
bool memory_bound_cold(const work& w, const machine& on) { return cold_seconds(w, on) > w.flops / on.flops_per_second; }
bool memory_bound_warm(const work& w, const machine& on) { return warm_seconds(w, on) > w.flops / on.flops_per_second; }

double load_ratio(const loads& a, const loads& b) {
  const auto all = [](const loads& l) { return l.global_ld + l.ldgsts; };
  return all(a) / all(b);
}
double residual_stream_bytes(const shape& of, double bytes_each) {
  const std::array factors{of.layers, of.batch, of.tokens, of.channels, bytes_each};
  return std::reduce(factors.begin(), factors.end(), 1.0, std::multiplies<>{});
}
double percent_of_peak(const double* seconds, const double* percent, int n) {
  const vec s(seconds, static_cast<std::size_t>(n)), p(percent, static_cast<std::size_t>(n));
  return (s * p).sum() / s.sum();
}
double seconds_without_waits(const double* wall, int n, double wait) {
  return std::transform_reduce(wall, wall + n, 0.0, std::plus<>{}, [=](double w) { return std::max(0.0, w - wait); });
}

}  // namespace lab08
