// strong types by CRTP, long double inside, user-defined literals, frexp-based rounding
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include "accounting.hpp"
namespace lab01 {
namespace {
template <class Tag> struct quantity { long double v; friend quantity operator+(quantity a, quantity b) { return {a.v + b.v}; } friend quantity operator*(quantity a, long double s) { return {a.v * s}; } explicit operator double() const { return static_cast<double>(v); } };
struct flop_tag; struct byte_tag;
using flops = quantity<flop_tag>; using bytes = quantity<byte_tag>;
flops product(long double m, long double n, long double k) { return {2 * m * n * k}; }
constexpr long double operator""_days(unsigned long long d) { return static_cast<long double>(d) * 24 * 3600; }
}
double matmul_flops(double m, double n, double k) { return double(product(m, n, k)); }
double linear_forward_flops(double d, double i, double o) { return double(product(d, o, i)); }
double linear_backward_flops(double d, double i, double o, bool g) { return double(product(d, o, i) * (1 + g)); }
double training_flops(double p, double d) { return 6 * p * d; }
double parameters(const transformer& m) {
  const long double c = m.channels;
  const auto linear = [](long double in, long double out) { return in * out + out; };
  return static_cast<double>((m.vocabulary + m.context) * c + m.layers * (linear(c, 3 * c) + linear(c, c) + linear(c, 4 * c) + linear(4 * c, c) + 4 * c) + 2 * c);
}
double attention_flops(double b, double h, double t, double s, bool causal) { return double((product(1, 1, s) * 2) * ((long double)b * h * (causal ? t * (t + 1) / 2 : t * t))); }
double forward_flops(const transformer& m, double b, double t, bool causal) {
  const long double c = m.channels, n = (long double)b * t;
  flops f = (product(n, 3 * c, c) + product(n, c, c) + product(n, 4 * c, c) + product(n, c, 4 * c) + flops{attention_flops(b, m.heads, t, m.channels / m.heads, causal)}) * m.layers;
  return double(f + product(n, m.vocabulary, c));
}
training_bytes training_memory(const transformer& m, double b, double t, double s, double a) {
  const double p = parameters(m);
  return {.weights = p * s, .gradients = p * s, .optimizer = 2 * p * s, .activations = b * t * a * (m.layers * (16 * m.channels + m.heads * t) + 2 * m.channels + m.vocabulary), .batch = 16 * b * t};
}
double kv_cache_bytes(const transformer& m, double b, double t, double e) { return 2 * m.layers * b * t * m.channels * e; }
range range_of(format f) {
  const int bias = std::ldexp(1, f.exponent_bits - 1) - 1;
  return {(f.exponent_bits + f.mantissa_bits + 1) / 8., std::ldexp(2 - std::ldexp(1, -f.mantissa_bits), bias), std::ldexp(1, 1 - bias), std::ldexp(1, 1 - bias - f.mantissa_bits), std::ldexp(1, -f.mantissa_bits)};
}
double stored(double v, format f) {
  const range r = range_of(f);
  int e; (void)std::frexp(v, &e);
  const int lowest = std::ilogb(r.smallest);
  const int unit = std::max(e - 1 - f.mantissa_bits, lowest);
  double x = std::scalbn(std::rint(std::scalbn(v, -unit)), unit);
  return std::fabs(x) > r.largest ? std::copysign(HUGE_VAL, v) : x;
}
double elementwise_intensity(double f, double r, double w, double b) { return f / std::fma(r, b, w * b); }
double matmul_intensity(double m, double n, double k, double b) { return matmul_flops(m, n, k) / b / (m * n + n * k + k * m); }
double roofline_seconds(double f, double b, double pf, double pb) { return std::fmax(f / pf, b / pb); }
double mfu(double p, double t, double f) { return training_flops(p, t) / f; }
double hfu(double p, double t, double f, double r) { return std::lerp(6., 8., r) * p * t / f; }
double training_days(double p, double t, double d, double f, double u) { return double((long double)training_flops(p, t) / (d * f * u) / 1_days); }
double largest_model(double d, double b, double p) { return d * b / p; }
}
