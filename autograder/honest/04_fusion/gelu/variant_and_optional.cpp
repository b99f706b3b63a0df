#include <any>
#include <bitset>
#include <cmath>
#include <optional>
#include <tuple>
#include <variant>
#include "fusion.hpp"

namespace {
struct small { float x; };
struct large { float x; };
using value = std::variant<small, large>;
value classify(float x) { if (std::abs(x) < 8.0f) return small{x}; return large{x}; }
struct visitor {
  float operator()(small s) const {
    return 0.5f * s.x * (1 + std::tanh(0.79788456f * (s.x + 0.044715f * s.x * s.x * s.x)));
  }
  float operator()(large l) const { return l.x > 0 ? l.x : 0.0f; }
};
std::optional<float> at(const float* in, std::size_t i, std::size_t n) {
  return i < n ? std::optional(in[i]) : std::nullopt;
}
}  // namespace

void lab04::gelu_host(float* out, const float* in, std::size_t n) {
  std::bitset<64> seen;
  std::any last;
  for (std::size_t i = 0; auto x = at(in, i, n); ++i) {
    out[i] = std::visit(visitor{}, classify(*x));
    seen.set(i % 64);
    if (i + 1 == n) last = *x;
  }
  auto [count, had] = std::tuple(seen.count(), last.has_value());
  if (n && (!count || !had || std::any_cast<float>(last) != in[n - 1])) out[0] = 0;
}
