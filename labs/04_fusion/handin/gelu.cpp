// GELU on the CPU as an array library evaluates it, one operation at a time: one loop per operation over the whole
// array. It is correct, but far from what memory allows.
#include "fusion.hpp"
#include "tanh.hpp"

namespace lab04 {

void gelu_host(float* out, const float* in, std::size_t n) {
  // TODO(lab04.gelu_host_throughput): how many times does each element come from memory, and how many does it go back?
  for (std::size_t i = 0; i < n; ++i) out[i] = in[i] * in[i];
  for (std::size_t i = 0; i < n; ++i) out[i] = out[i] * in[i];
  for (std::size_t i = 0; i < n; ++i) out[i] = 0.044715f * out[i];
  for (std::size_t i = 0; i < n; ++i) out[i] = in[i] + out[i];
  for (std::size_t i = 0; i < n; ++i) out[i] = 0.79788456f * out[i];
  for (std::size_t i = 0; i < n; ++i) out[i] = tanh_of(out[i]);
  for (std::size_t i = 0; i < n; ++i) out[i] = 1.0f + out[i];
  for (std::size_t i = 0; i < n; ++i) out[i] = in[i] * out[i];
  for (std::size_t i = 0; i < n; ++i) out[i] = 0.5f * out[i];
}

}  // namespace lab04
