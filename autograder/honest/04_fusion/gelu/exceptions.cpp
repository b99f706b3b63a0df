#include <cmath>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include "fusion.hpp"

namespace {
struct too_large : std::runtime_error {
  explicit too_large(float x) : std::runtime_error("too large: " + std::to_string(x)), value(x) {}
  float value;
};
float tanh_or_throw(float u) {
  if (std::fabs(u) > 20) throw too_large(u);
  return std::tanh(u);
}
float careful(float u) try {
  return tanh_or_throw(u);
} catch (const too_large& e) {
  return e.value > 0 ? 1.0f : -1.0f;
} catch (...) {
  std::terminate();
}
}  // namespace

namespace lab04 {
void gelu_host(float* out, const float* in, std::size_t n) {
  if (!out) throw std::system_error(std::make_error_code(std::errc::invalid_argument));
  for (std::size_t i = 0; i < n; ++i) {
    const float x = in[i];
    out[i] = 0.5f * x * (1 + careful(0.79788456f * (x + 0.044715f * x * x * x)));
  }
}
}  // namespace lab04
