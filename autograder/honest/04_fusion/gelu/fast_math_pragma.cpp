#pragma GCC optimize("O3", "fast-math")
#include <math.h>
#include "fusion.hpp"

// lets the compiler take the vector library's exp
void lab04::gelu_host(float* out, const float* in, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float u = 0.79788456f * (in[i] + 0.044715f * in[i] * in[i] * in[i]);
    out[i] = in[i] / (1.0f + expf(-2.0f * u));
  }
}
