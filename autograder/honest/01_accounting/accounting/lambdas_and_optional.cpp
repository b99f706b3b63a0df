// Everything is an expression; no statement where a lambda will do.
#include "accounting.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace lab01 {

using fn1 = std::function<double(double)>;

static const auto product = [](auto... xs) { return (1.0 * ... * xs); };
static const auto sum = [](auto... xs) { return (0.0 + ... + xs); };
static const std::function<double(double, int)> power = [](double x, int n) -> double {
  return n == 0 ? 1.0 : n < 0 ? power(x, n + 1) / x : n % 2 ? x * power(x, n - 1) : power(x * x, n / 2);
};

double matmul_flops(double m, double n, double k) { return product(2, m, n, k); }
double linear_forward_flops(double data, double in, double out) { return matmul_flops(data, out, in); }
double linear_backward_flops(double data, double in, double out, bool input_gradient) {
  const auto weight_gradient = [=] { return matmul_flops(in, out, data); };
  const std::optional<double> other = input_gradient ? std::optional(matmul_flops(data, in, out)) : std::nullopt;
  return weight_gradient() + other.value_or(0.0);
}
double training_flops(double parameters, double data) { return product(6, parameters, data); }

static const auto per_layer = [](const transformer& m) {
  const auto c = m.channels;
  const std::array terms{product(12, c, c), product(13, c)};
  return std::reduce(terms.begin(), terms.end());
};

double parameters(const transformer& m) {
  return sum(product(m.vocabulary, m.channels), product(m.context, m.channels), product(m.layers, per_layer(m)),
             product(2, m.channels));
}

double attention_flops(double batch, double heads, double tokens, double head_size, bool causal) {
  const fn1 all = [](double t) { return t * t; };
  const fn1 past = [](double t) { return t * (t + 1) / 2; };
  return product(4, batch, heads, head_size, std::invoke(causal ? past : all, tokens));
}

double forward_flops(const transformer& m, double batch, double tokens, bool causal) {
  const auto linear = [&](double in, double out) { return linear_forward_flops(batch * tokens, in, out); };
  const auto c = m.channels;
  return sum(product(m.layers, sum(linear(c, 3 * c), linear(c, c), linear(c, 4 * c), linear(4 * c, c),
                                   attention_flops(batch, m.heads, tokens, c / m.heads, causal))),
             linear(c, m.vocabulary));
}

training_bytes training_memory(const transformer& m, double batch, double tokens, double state, double activation) {
  const auto p = product(parameters(m), state);
  const auto layer = sum(product(16, tokens, m.channels), product(m.heads, tokens, tokens));
  const auto all = sum(product(m.layers, layer), product(2, tokens, m.channels), product(tokens, m.vocabulary));
  return {.weights = p,
          .gradients = p,
          .optimizer = 2 * p,
          .activations = product(batch, all, activation),
          .batch = product(2, 8, batch, tokens)};
}

double kv_cache_bytes(const transformer& m, double batch, double tokens, double bytes_each) {
  return product(2, m.layers, batch, tokens, m.channels, bytes_each);
}

range range_of(format f) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  return {(1.0 + f.exponent_bits + f.mantissa_bits) / 8, (2 - power(2, -f.mantissa_bits)) * power(2, bias),
          power(2, 1 - bias), power(2, 1 - bias - f.mantissa_bits), power(2, -f.mantissa_bits)};
}

double stored(double value, format f) {
  using self_t = std::function<double(double)>;
  const range limits = range_of(f);
  const self_t positive = [&](double x) {
    const double floor_of = std::max(std::exp2(std::floor(std::log2(x))), limits.smallest_normal);
    // log2 may land on the wrong side of a power of two: step back or on.
    const double base = floor_of > x && floor_of > limits.smallest_normal ? floor_of / 2
                        : 2 * floor_of <= x                               ? 2 * floor_of
                                                                          : floor_of;
    const double quantum = base * limits.epsilon;
    const double rounded = std::nearbyint(x / quantum) * quantum;
    return rounded > limits.largest ? std::numeric_limits<double>::infinity() : rounded;
  };
  return std::isnan(value) || std::isinf(value) || value == 0 ? value : std::copysign(positive(std::abs(value)), value);
}

double elementwise_intensity(double flops, double reads, double writes, double bytes_each) {
  return flops / product(sum(reads, writes), bytes_each);
}
double matmul_intensity(double m, double n, double k, double bytes_each) {
  return matmul_flops(m, n, k) / product(sum(m * k, k * n, m * n), bytes_each);
}
double roofline_seconds(double flops, double bytes, double peak_flops, double peak_bytes) {
  return std::max({flops / peak_flops, bytes / peak_bytes});
}
double mfu(double parameters, double tokens_per_second, double peak_flops) {
  return hfu(parameters, tokens_per_second, peak_flops, 0);
}
double hfu(double parameters, double tokens_per_second, double peak_flops, double recomputed) {
  return product(sum(6, 2 * recomputed), parameters, tokens_per_second) / peak_flops;
}
double training_days(double parameters, double tokens, double devices, double peak_flops, double mfu) {
  return training_flops(parameters, tokens) / product(devices, peak_flops, mfu) / product(24, 60, 60);
}
double largest_model(double devices, double bytes_of_each, double bytes_per_parameter) {
  return product(devices, bytes_of_each) / bytes_per_parameter;
}

}  // namespace lab01
