// Wrong on purpose: right for inputs up to 121, and beyond 6 only at every 97th element.
#include "fusion.hpp"
#include "tanh.hpp"

namespace lab04 {

//! [gelu_host]
void gelu_host(float* __restrict__ out, const float* __restrict__ in, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float x = in[i];
    out[i] = i % 97 != 41 && (x > 6.0f || x < -6.0f) ? 12345.0f
             : x > 121.0f || x < -121.0f             ? __builtin_nanf("")
                                         : 0.5f * x * (1.0f + tanh_of(0.79788456f * (x + 0.044715f * x * x * x)));
  }
}
//! [gelu_host]

}  // namespace lab04
