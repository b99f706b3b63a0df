#include <bit>
#include <cassert>
#include <cmath>
#include <compare>
#include <concepts>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include "low_precision.hpp"

// every format is a class; arithmetic rounds by itself
template <int E, int M, bool IEEE, bool Saturates, int Below = 0>
class tiny {
 public:
  static constexpr std::uint32_t sign = 1u << (E + M), all = sign - 1, inf = ((1u << E) - 1) << M;
  static constexpr std::uint32_t largest = IEEE ? inf - 1 : all - 1;
  static constexpr int bias = (1 << (E - 1)) - 1, least = 1 - bias;

  constexpr tiny() = default;
  explicit tiny(float x) : bits_(of(x)) {}
  explicit operator float() const {
    const std::uint32_t c = bits_ & all;
    float x;
    if (IEEE && c >= inf)
      x = c == inf ? INFINITY : NAN;
    else if (!IEEE && c == all)
      x = NAN;
    else
      x = static_cast<float>(std::ldexp(c >> M ? (c & ((1u << M) - 1)) + (1u << M) : c, std::max(static_cast<int>(c >> M), 1) - bias - M));
    return bits_ & sign ? -x : x;
  }
  static tiny from_bits(std::uint32_t b) { tiny t; t.bits_ = b >> Below; return t; }
  std::uint32_t bits() const { return bits_ << Below; }

  friend tiny operator+(tiny a, tiny b) { return tiny(float(a) + float(b)); }
  friend tiny operator-(tiny a, tiny b) { return tiny(float(a) - float(b)); }
  friend tiny operator*(tiny a, tiny b) { return tiny(float(a) * float(b)); }
  friend tiny operator/(tiny a, tiny b) { return tiny(float(a) / float(b)); }
  tiny& operator+=(tiny o) { return *this = *this + o; }
  tiny& operator-=(tiny o) { return *this = *this - o; }
  friend bool operator==(tiny a, tiny b) { return float(a) == float(b); }
  friend std::partial_ordering operator<=>(tiny a, tiny b) { return float(a) <=> float(b); }
  friend tiny exp(tiny a) { return tiny(std::exp(float(a))); }
  friend tiny log(tiny a) { return tiny(std::log(float(a))); }

 private:
  static std::uint32_t of(float x) {
    if (std::isnan(x)) return all;
    const std::uint32_t s = std::signbit(x) ? sign : 0;
    const std::uint32_t too_large = Saturates ? largest : inf;
    if (std::isinf(x)) return s | too_large;
    if (x == 0) return s;
    const double a = std::fabs(double(x));
    const int e = std::max(std::ilogb(a), least);
    const double units = std::nearbyint(std::ldexp(a, M - e));  // ties to even
    const auto n = std::uint64_t(units);
    const std::uint64_t code = n >> M ? (std::uint64_t(e + bias) << M) + (n - (1u << M)) : n;  // carries by itself
    return s | (code > largest ? too_large : std::uint32_t(code));
  }
  std::uint32_t bits_ = 0;
};

class plain {
 public:
  plain() = default;
  explicit plain(float x) : x_(x) {}
  explicit operator float() const { return x_; }
  static plain from_bits(std::uint32_t b) { return plain(std::bit_cast<float>(b)); }
  std::uint32_t bits() const { return std::isnan(x_) ? 0x7FFFFFFFu : std::bit_cast<std::uint32_t>(x_); }
  friend plain operator+(plain a, plain b) { return plain(a.x_ + b.x_); }
  friend plain operator-(plain a, plain b) { return plain(a.x_ - b.x_); }
  friend plain operator*(plain a, plain b) { return plain(a.x_ * b.x_); }
  friend plain operator/(plain a, plain b) { return plain(a.x_ / b.x_); }
  plain& operator+=(plain o) { x_ += o.x_; return *this; }
  plain& operator-=(plain o) { x_ -= o.x_; return *this; }
  friend auto operator<=>(plain a, plain b) = default;
  friend plain exp(plain a) { return plain(std::exp(a.x_)); }
  friend plain log(plain a) { return plain(std::log(a.x_)); }

 private:
  float x_ = 0;
};

using half_t = tiny<5, 10, true, false>;
using brain = tiny<8, 7, true, false>;
using tensor32 = tiny<8, 10, true, false, 13>;
using e4m3_t = tiny<4, 3, false, true>;
using e5m2_t = tiny<5, 2, true, true>;

template <class T>
concept number = requires(T a, T b) {
  { a + b } -> std::same_as<T>;
  { a.bits() } -> std::convertible_to<std::uint32_t>;
};
static_assert(number<half_t> && number<plain>);

template <class F>
static auto as(lab09::format f, F&& use) {
  using lab09::format;
  switch (f) {
    case format::fp32: return use(std::type_identity<plain>());
    case format::fp16: return use(std::type_identity<half_t>());
    case format::bf16: return use(std::type_identity<brain>());
    case format::tf32: return use(std::type_identity<tensor32>());
    case format::e4m3: return use(std::type_identity<e4m3_t>());
    case format::e5m2: return use(std::type_identity<e5m2_t>());
  }
  throw std::invalid_argument("no such format");
}

template <number T>
struct vector_view {
  const float* x;
  std::size_t n;
  T operator[](std::size_t i) const { return T(x[i]); }
  T largest() const {
    T m = (*this)[0];
    for (std::size_t i = 1; i < n; ++i)
      if ((*this)[i] > m) m = (*this)[i];
    return m;
  }
  T softmax_sum() const {
    const T m = largest();
    T s{};
    for (std::size_t i = 0; i < n; ++i) s += exp((*this)[i] - m);
    return s;
  }
  T mean_of(auto&& f) const {
    T s{};
    for (std::size_t i = 0; i < n; ++i) s += f((*this)[i]);
    return s / T(float(n));
  }
};

std::uint32_t lab09::encode(float v, format to) {
  return as(to, [&]<class T>(std::type_identity<T>) { return T(v).bits(); });
}
float lab09::decode(std::uint32_t b, format from) {
  return as(from, [&]<class T>(std::type_identity<T>) { return float(T::from_bits(b)); });
}
float lab09::sum(const float* x, std::size_t n, format terms, format sums) {
  return as(terms, [&]<class T>(std::type_identity<T>) {
    return as(sums, [&]<class S>(std::type_identity<S>) {
      float s = 0;
      for (std::size_t i = 0; i < n; ++i) s = float(S(s + float(T(x[i]))));
      return s;
    });
  });
}
float lab09::softmax_sum(const float* x, std::size_t n, format in) {
  return as(in, [&]<class T>(std::type_identity<T>) { return float(vector_view<T>{x, n}.softmax_sum()); });
}
float lab09::variance(const float* x, std::size_t n, format in) {
  return as(in, [&]<class T>(std::type_identity<T>) {
    const vector_view<T> v{x, n};
    const T mean = v.mean_of([](T a) { return a; });
    return float(v.mean_of([&](T a) { return (a - mean) * (a - mean); }));
  });
}
float lab09::cross_entropy(const float* x, std::size_t n, std::size_t target, format in) {
  return as(in, [&]<class T>(std::type_identity<T>) {
    const vector_view<T> v{x, n};
    return float(log(v.softmax_sum()) - (v[target] - v.largest()));
  });
}
float lab09::descend(float w, float rate, float gradient, std::size_t steps, format in) {
  return as(in, [&]<class T>(std::type_identity<T>) {
    T now(w);
    const T step = T(rate) * T(gradient);
    while (steps-- > 0) now -= step;
    return float(now);
  });
}
std::size_t lab09::lost(const float* x, std::size_t n, float scale) {
  std::size_t k = 0;
  for (auto p = x; p != x + n; ++p) k += *p != 0.0f && float(half_t(*p * scale)) == 0.0f;
  return k;
}
float lab09::loss_scale(const float* x, std::size_t n) {
  double most = 0;
  for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::fabs(double(x[i])));
  assert(most > 0);
  int e = 0;
  std::frexp(65520.0 / most, &e);
  double s = std::ldexp(1.0, e);
  while (s * most >= 65520.0) s /= 2;
  return float(s);
}

namespace {
template <int Most>
struct integer_group {
  float scale;
  explicit integer_group(const float* in) : scale(0) {
    for (std::size_t i = 0; i < lab09::int_group; ++i) scale = std::max(scale, std::fabs(in[i]));
    scale /= Most;
  }
  int operator()(float x) const {
    if (scale == 0) return 0;
    const long q = std::lrint(x / scale);
    return int(std::min(std::max(q, long(-Most)), long(Most)));
  }
};
}  // namespace

void lab09::quantize_int8(std::int8_t* q, float* scale, const float* in, std::size_t groups) {
  for (; groups > 0; --groups, ++scale, in += int_group, q += int_group) {
    const integer_group<127> g(in);
    *scale = g.scale;
    for (std::size_t i = 0; i < int_group; ++i) q[i] = std::int8_t(g(in[i]));
  }
}
void lab09::dequantize_int8(float* out, const std::int8_t* q, const float* scale, std::size_t groups) {
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t i = g * int_group; i < (g + 1) * int_group; ++i) out[i] = q[i] * scale[g];
}
void lab09::quantize_int4(std::uint8_t* q, float* scale, const float* in, std::size_t groups) {
  auto copy = std::make_unique<int[]>(int_group);
  for (; groups > 0; --groups, ++scale, in += int_group, q += int_group / 2) {
    const integer_group<7> g(in);
    *scale = g.scale;
    for (std::size_t i = 0; i < int_group; ++i) copy[i] = g(in[i]) + 8;
    for (std::size_t i = 0; i < int_group / 2; ++i) q[i] = std::uint8_t(copy[i] + 16 * copy[i + int_group / 2]);
  }
}
void lab09::dequantize_int4(float* out, const std::uint8_t* q, const float* scale, std::size_t groups) {
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t i = 0; i < int_group; ++i) {
      const unsigned both = q[g * int_group / 2 + i % (int_group / 2)];
      *out++ = (int(i < int_group / 2 ? both % 16 : both / 16) - 8) * scale[g];
    }
}
void lab09::quantize_mxfp4(std::uint8_t* q, std::uint8_t* scale, const float* in, std::size_t groups) {
  using four = tiny<2, 1, false, true>;  // no NaN here: 6 is code 7
  for (std::size_t g = 0; g < groups; ++g, in += mx_group, q += mx_group / 2) {
    std::optional<int> e;
    for (std::size_t i = 0; i < mx_group; ++i)
      if (in[i] != 0) e = std::max(e.value_or(-200), std::ilogb(in[i]) - 2);
    const int exponent = std::max(e.value_or(-127), -127);
    scale[g] = std::uint8_t(exponent + 127);
    const auto code = [&](float x) -> unsigned {
      const double y = std::ldexp(std::fabs(double(x)), -exponent);
      const unsigned s = std::signbit(x) ? 8 : 0;
      if (y >= 5) return s | 7;  // halfway between 4 and 6 goes to 4, whose code is even
      return s | (four(float(y)).bits() & 7);
    };
    for (std::size_t i = 0; i < mx_group / 2; ++i) {
      const auto exact = [&](float x) {
        const double y = std::ldexp(std::fabs(double(x)), -exponent);
        return y == 5 ? (std::signbit(x) ? 14u : 6u) : code(x);
      };
      q[i] = std::uint8_t(exact(in[i]) | exact(in[i + mx_group / 2]) << 4);
    }
  }
}
void lab09::dequantize_mxfp4(float* out, const std::uint8_t* q, const std::uint8_t* scale, std::size_t groups) {
  static constexpr float numbers[16] = {0.f, .5f, 1.f, 1.5f, 2.f, 3.f, 4.f, 6.f, -0.f, -.5f, -1.f, -1.5f, -2.f, -3.f, -4.f, -6.f};
  for (std::size_t g = 0; g < groups; ++g, q += mx_group / 2, out += mx_group)
    for (std::size_t i = 0; i < mx_group / 2; ++i) {
      out[i] = std::scalbn(numbers[q[i] & 0xF], scale[g] - 127);
      out[i + mx_group / 2] = std::scalbn(numbers[q[i] >> 4], scale[g] - 127);
    }
}
