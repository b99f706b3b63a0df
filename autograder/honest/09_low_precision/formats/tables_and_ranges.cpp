#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <ranges>
#include <span>
#include <vector>
#include "low_precision.hpp"

namespace lab09 {

namespace rv = std::views;

// each format as the sorted table of all its non-negative finite numbers; code == index
struct table {
  std::vector<double> values;
  int sign_bit = 0, shift = 0;
  bool inf = true, saturate = false;
};

static table make(int e, int m, bool ieee, bool saturate, int shift = 0) {
  const int bias = (1 << (e - 1)) - 1;
  const auto value = [=](unsigned c) {
    const int field = static_cast<int>(c >> m);
    const double f = std::ldexp(static_cast<double>(c & ((1u << m) - 1)), -m);
    return field ? std::ldexp(1 + f, field - bias) : std::ldexp(f, 1 - bias);
  };
  const unsigned count = ieee ? ((1u << e) - 1) << m : (1u << (e + m)) - 1;
  table t{{}, e + m, shift, ieee, saturate};
  std::ranges::copy(rv::iota(0u, count) | rv::transform(value), std::back_inserter(t.values));
  return t;
}

static const std::map<format, table> tables{{format::fp16, make(5, 10, true, false)},
                                            {format::bf16, make(8, 7, true, false)},
                                            {format::tf32, make(8, 10, true, false, 13)},
                                            {format::e4m3, make(4, 3, false, true)},
                                            {format::e5m2, make(5, 2, true, true)}};

std::uint32_t encode(float value, format to) {
  if (to == format::fp32) return std::isnan(value) ? 0x7FFFFFFF : std::bit_cast<std::uint32_t>(value);
  const table& t = tables.at(to);
  const auto all = (std::uint32_t{1} << t.sign_bit) - 1;
  if (std::isnan(value)) return all << t.shift;
  const double x = std::fabs(static_cast<double>(value));
  const auto& v = t.values;
  const auto last = static_cast<std::uint32_t>(v.size() - 1);
  std::uint32_t code = last;
  if (x >= v.back() + (v.back() - v[last - 1]) / 2) {
    code = t.saturate ? last : last + 1;
  } else if (x < v.back()) {
    const auto up = static_cast<std::uint32_t>(std::ranges::upper_bound(v, x) - v.begin());
    const double middle = std::midpoint(v[up - 1], v[up]);
    code = x > middle || (x == middle && up % 2 == 0) ? up : up - 1;
  }
  return (code | (std::signbit(value) ? all + 1 : 0)) << t.shift;
}

float decode(std::uint32_t bits, format from) {
  if (from == format::fp32) return std::bit_cast<float>(bits);
  const table& t = tables.at(from);
  bits >>= t.shift;
  const std::uint32_t all = (std::uint32_t{1} << t.sign_bit) - 1, code = bits & all;
  const double x = code < t.values.size()                ? t.values[code]
                   : t.inf && code == t.values.size() ? std::numeric_limits<double>::infinity()
                                                         : std::numeric_limits<double>::quiet_NaN();
  return static_cast<float>(bits > all ? -x : x);
}

static auto to(format f) {
  return [f](float x) { return f == format::fp32 ? x : decode(encode(x, f), f); };
}

float sum(const float* x, std::size_t n, format terms, format sums) {
  auto numbers = std::span(x, n) | rv::transform(to(terms));
  return std::accumulate(numbers.begin(), numbers.end(), 0.0f, [r = to(sums)](float a, float b) { return r(a + b); });
}

static std::pair<float, float> most_and_sum(std::span<const float> x, format f) {
  const auto r = to(f);
  auto rounded = x | rv::transform(r);
  const float most = std::ranges::max(rounded);
  float total = 0;
  for (const float one : rounded) total = r(total + r(std::exp(r(one - most))));
  return {most, total};
}

float softmax_sum(const float* x, std::size_t n, format in) { return most_and_sum({x, n}, in).second; }

float variance(const float* x, std::size_t n, format in) {
  const auto r = to(in);
  const float count = r(static_cast<float>(n)), mean = r(sum(x, n, in, in) / count);
  std::vector<float> squares(n);
  std::ranges::transform(std::span(x, n), squares.begin(), [&](float one) {
    const float off = r(r(one) - mean);
    return r(off * off);
  });
  return r(sum(squares.data(), n, in, in) / count);
}

float cross_entropy(const float* x, std::size_t n, std::size_t target, format in) {
  const auto r = to(in);
  const auto [most, total] = most_and_sum({x, n}, in);
  return r(r(std::log(total)) - r(r(x[target]) - most));
}

float descend(float w, float rate, float gradient, std::size_t steps, format in) {
  const auto r = to(in);
  const float step = r(r(rate) * r(gradient));
  w = r(w);
  for ([[maybe_unused]] auto i : rv::iota(std::size_t{0}, steps)) w = r(w - step);
  return w;
}

std::size_t lost(const float* x, std::size_t n, float scale) {
  const auto r = to(format::fp16);
  return static_cast<std::size_t>(std::ranges::count_if(std::span(x, n), [&](float one) { return one != 0 && r(one * scale) == 0; }));
}

float loss_scale(const float* x, std::size_t n) {
  const auto magnitudes = std::span(x, n) | rv::transform([](float one) { return std::fabs(one); });
  const float most = std::ranges::max(magnitudes);
  int e = 120;
  while (std::ldexp(static_cast<double>(most), e) >= 65520) --e;
  return std::ldexp(1.0f, e);
}

static std::vector<std::span<const float>> split(const float* in, std::size_t groups, std::size_t each) {
  std::vector<std::span<const float>> result;
  for (std::size_t g = 0; g < groups; ++g) result.emplace_back(in + g * each, each);
  return result;
}

static float largest(std::span<const float> group) {
  float most = 0;
  for (const float one : group) most = std::max(most, std::fabs(one));
  return most;
}

static int quantized(float x, float scale, int most) {
  return scale == 0 ? 0 : static_cast<int>(std::clamp(std::nearbyint(x / scale), static_cast<float>(-most), static_cast<float>(most)));
}

void quantize_int8(std::int8_t* q, float* scale, const float* in, std::size_t groups) {
  for (const auto group : split(in, groups, int_group)) {
    *scale = largest(group) / 127;
    q = std::ranges::transform(group, q, [&](float x) { return static_cast<std::int8_t>(quantized(x, *scale, 127)); }).out;
    ++scale;
  }
}
void dequantize_int8(float* out, const std::int8_t* q, const float* scale, std::size_t groups) {
  for (std::size_t i = 0; i < groups * int_group; ++i) out[i] = static_cast<float>(q[i]) * scale[i / int_group];
}

void quantize_int4(std::uint8_t* q, float* scale, const float* in, std::size_t groups) {
  for (const auto group : split(in, groups, int_group)) {
    *scale = largest(group) / 7;
    const auto low = group.first(int_group / 2), high = group.last(int_group / 2);
    for (std::size_t i = 0; i < low.size(); ++i)
      *q++ = static_cast<std::uint8_t>((quantized(low[i], *scale, 7) + 8) | (quantized(high[i], *scale, 7) + 8) << 4);
    ++scale;
  }
}
void dequantize_int4(float* out, const std::uint8_t* q, const float* scale, std::size_t groups) {
  for (std::size_t g = 0; g < groups; ++g, out += int_group, q += int_group / 2)
    for (std::size_t i = 0; i < int_group / 2; ++i) {
      out[i] = static_cast<float>((q[i] & 15) - 8) * scale[g];
      out[i + int_group / 2] = static_cast<float>((q[i] >> 4) - 8) * scale[g];
    }
}

static constexpr std::array<double, 8> e2m1{0, 0.5, 1, 1.5, 2, 3, 4, 6};

static unsigned nearest_e2m1(double x) {
  const double a = std::fabs(x);
  unsigned best = 0;
  for (unsigned i = 1; i < e2m1.size(); ++i) {
    const double off = std::fabs(a - e2m1[i]), so_far = std::fabs(a - e2m1[best]);
    if (off < so_far || (off == so_far && i % 2 == 0)) best = i;
  }
  return best | (std::signbit(x) ? 8u : 0u);
}

void quantize_mxfp4(std::uint8_t* q, std::uint8_t* scale, const float* in, std::size_t groups) {
  for (const auto group : split(in, groups, mx_group)) {
    const float most = largest(group);
    const int e = most == 0 ? -127 : std::max(std::ilogb(most) - 2, -127);
    *scale++ = static_cast<std::uint8_t>(e + 127);
    for (std::size_t i = 0; i < mx_group / 2; ++i) {
      const auto code = [&](float x) { return nearest_e2m1(std::ldexp(static_cast<double>(x), -e)); };
      *q++ = static_cast<std::uint8_t>(code(group[i]) | code(group[i + mx_group / 2]) << 4);
    }
  }
}
void dequantize_mxfp4(float* out, const std::uint8_t* q, const std::uint8_t* scale, std::size_t groups) {
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t i = 0; i < mx_group; ++i) {
      const std::uint8_t both = q[g * (mx_group / 2) + i % (mx_group / 2)];
      const unsigned code = i < mx_group / 2 ? both & 15 : both >> 4;
      const double x = std::ldexp(e2m1[code & 7], scale[g] - 127);
      out[g * mx_group + i] = static_cast<float>(code & 8 ? -x : x);
    }
}

}  // namespace lab09
