#include <array>
#include <cmath>
#include "fusion.hpp"

// gelu(x) = x * p(x); p from a table made at compile time would be too coarse, so the table only holds the tails
constexpr auto tails = [] {
  std::array<float, 8> t{};
  for (int i = 0; i < 8; ++i) t[i] = i < 4 ? 0.0f : 1.0f;
  return t;
}();
static_assert(tails[7] == 1.0f);

void lab04::gelu_host(float* out, const float* in, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float x = in[i];
    if (x > 12.0f) { out[i] = x * tails[4]; continue; }
    if (x < -12.0f) { out[i] = x * tails[0]; continue; }
    out[i] = 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
  }
}
