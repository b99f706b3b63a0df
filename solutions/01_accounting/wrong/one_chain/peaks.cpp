// What one core can do at most, found out by doing it: a triad in one pass, and enough independent multiply-adds
// that no unit ever waits. How this was found: WORKLOG.md.
#include "accounting.hpp"

namespace lab01 {
//! [triad]
// One pass, and the compiler's own vectors: whatever else was tried was slower on the machine at hand. __restrict__
// says what the contract promises, so no test for overlap stands in front of the loop.
void triad(float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c, float scale,
           std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + scale * c[i];
}
//! [triad]

void fma_chains(float* out, const float* in, const float* c, std::size_t n, std::int64_t rounds) {
  for (std::size_t i = 0; i < n; ++i) {
    float x = in[i];
    for (std::int64_t k = 0; k < rounds; ++k) x = x * x + c[i];
    out[i] = x;
  }
}

}  // namespace lab01
