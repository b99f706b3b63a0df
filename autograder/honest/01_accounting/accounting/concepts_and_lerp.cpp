#include "accounting.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <limits>
#include <numeric>
#include <ranges>
#include <span>
#include <tuple>

namespace lab01 {
namespace {

template <std::floating_point T>
constexpr T sq(T x) {
  return x * x;
}
template <std::floating_point... T>
constexpr auto sum(T... xs) {
  return (xs + ... + 0.0);
}

struct per_layer {
  double weights, kept;
};

// all linear layers of a block: {in, out} in channels
constexpr std::array<std::pair<double, double>, 4> linears{{{1, 3}, {1, 1}, {1, 4}, {4, 1}}};

double weights_of_block(double c) {
  double n = 4 * c;  // two norms
  for (const auto& [in, out] : linears) n += in * c * out * c + out * c;
  return n;
}

}  // namespace

double matmul_flops(double m, double n, double k) { return 2.0 * m * n * k; }
double linear_forward_flops(double data, double in, double out) { return matmul_flops(data, out, in); }
double linear_backward_flops(double data, double in, double out, bool input_gradient) {
  return (input_gradient ? 2.0 : 1.0) * matmul_flops(in, out, data);
}
double training_flops(double parameters, double data) { return 6.0 * parameters * data; }

double parameters(const transformer& model) {
  const auto& [layers, heads, c, vocabulary, context] = model;
  return sum(vocabulary * c, context * c, layers * weights_of_block(c), 2 * c);
}

double attention_flops(double batch, double heads, double tokens, double head_size, bool causal) {
  const double pairs = causal ? std::midpoint(0.0, tokens * (tokens + 1)) : sq(tokens);
  return 4 * batch * heads * head_size * pairs;
}

double forward_flops(const transformer& model, double batch, double tokens, bool causal) {
  const auto& [layers, heads, c, vocabulary, context] = model;
  const auto per_linear = linears | std::views::transform([&, c = c](const auto& l) {
                            return linear_forward_flops(batch * tokens, l.first * c, l.second * c);
                          });
  double block = attention_flops(batch, heads, tokens, c / heads, causal);
  std::ranges::for_each(per_linear, [&](double f) { block += f; });
  return layers * block + matmul_flops(batch * tokens, vocabulary, c);
}

training_bytes training_memory(const transformer& model, double batch, double tokens, double state, double activation) {
  const double p = parameters(model);
  const auto& [layers, heads, c, vocabulary, context] = model;
  // x, norm, qkv, mixed, x, norm2, wide, active : 1+1+3+1+1+1+4+4 = 16 c
  const double block = 16 * c * tokens + heads * tokens * tokens;
  const double all = layers * block + 2 * c * tokens + vocabulary * tokens;
  return {.weights = p * state,
          .gradients = p * state,
          .optimizer = 2 * p * state,
          .activations = batch * all * activation,
          .batch = 2 * 8 * batch * tokens};
}

double kv_cache_bytes(const transformer& model, double batch, double tokens, double bytes_each) {
  return 2 * model.layers * batch * tokens * model.channels * bytes_each;
}

range range_of(format f) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const double eps = std::ldexp(1.0, -f.mantissa_bits);
  return {.bytes = (1 + f.exponent_bits + f.mantissa_bits) / 8.0,
          .largest = std::ldexp(2.0 - eps, bias),
          .smallest_normal = std::ldexp(1.0, 1 - bias),
          .smallest = std::ldexp(eps, 1 - bias),
          .epsilon = eps};
}

double stored(double value, format f) {
  if (value == 0 || !std::isfinite(value)) return value;
  const range r = range_of(f);
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const int e = std::max(std::ilogb(value), 1 - bias);
  const double ulp = std::ldexp(1.0, e - f.mantissa_bits);
  const double out = std::nearbyint(value / ulp) * ulp;
  if (std::abs(out) > r.largest) return std::copysign(std::numeric_limits<double>::infinity(), value);
  return out;
}

double elementwise_intensity(double flops, double reads, double writes, double bytes_each) {
  return flops / ((reads + writes) * bytes_each);
}
double matmul_intensity(double m, double n, double k, double bytes_each) {
  return matmul_flops(m, n, k) / (bytes_each * (m * k + k * n + m * n));
}
double roofline_seconds(double flops, double bytes, double peak_flops, double peak_bytes) {
  return std::ranges::max({flops / peak_flops, bytes / peak_bytes});
}
double mfu(double parameters, double tokens_per_second, double peak_flops) {
  return training_flops(parameters, tokens_per_second) / peak_flops;
}
double hfu(double parameters, double tokens_per_second, double peak_flops, double recomputed) {
  return std::lerp(6.0, 8.0, recomputed) * parameters * tokens_per_second / peak_flops;
}
double training_days(double parameters, double tokens, double devices, double peak_flops, double mfu) {
  using namespace std;
  constexpr double day = 24 * 3600;
  return training_flops(parameters, tokens) / (devices * peak_flops * mfu) / day;
}
double largest_model(double devices, double bytes_of_each, double bytes_per_parameter) {
  return devices * bytes_of_each / bytes_per_parameter;
}

}  // namespace lab01
