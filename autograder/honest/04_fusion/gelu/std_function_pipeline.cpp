#include <cmath>
#include <functional>
#include <vector>
#include "fusion.hpp"

static const std::vector<std::function<float(float)>> stages = {
    [](float x) { return 0.79788456f * (x + 0.044715f * x * x * x); },
    [](float u) { return std::tanh(u); },
    [](float t) { return 1.0f + t; },
};

void lab04::gelu_host(float* out, const float* in, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    float v = in[i];
    for (const auto& f : stages) v = f(v);
    out[i] = 0.5f * in[i] * v;
  }
}
