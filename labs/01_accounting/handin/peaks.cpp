// The two peaks of one core: correct, but far below the peak. A number used as a ceiling must be one.
#include "accounting.hpp"

namespace lab01 {

void triad(float* a, const float* b, const float* c, float scale, std::size_t n) {
  // TODO(lab01.triad_throughput): how many times does each element of `a` cross the bus here, and how many must it?
  for (std::size_t i = 0; i < n; ++i) a[i] = scale * c[i];
  for (std::size_t i = 0; i < n; ++i) a[i] += b[i];
}

void fma_chains(float* out, const float* in, const float* c, std::size_t n, std::int64_t rounds) {
  // TODO(lab01.fma_throughput): each step waits for the previous one. What could run while it waits?
  for (std::size_t i = 0; i < n; ++i) {
    float x = in[i];
    for (std::int64_t k = 0; k < rounds; ++k) x = x * x + c[i];
    out[i] = x;
  }
}

}  // namespace lab01
