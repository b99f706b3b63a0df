// What one core can do at most, found out by doing it: a triad in one pass, and enough independent multiply-adds
// that no unit ever waits. WORKLOG.md tells how this was found.
#include "accounting.hpp"

namespace lab01 {
namespace {

#ifdef __AVX512F__
constexpr std::size_t wide = 64;
#else
constexpr std::size_t wide = 32;
#endif
constexpr std::size_t lanes = wide / sizeof(float);
typedef float floats __attribute__((vector_size(wide), aligned(4), may_alias));

floats load(const float* from) { return *reinterpret_cast<const floats*>(from); }

//! [chains]
/// A multiply-add takes four cycles or so, and two units take a new one every cycle: fewer than eight chains starve
/// them. Twelve and their constants fit into 32 registers; where there are 16, an instruction can take its constant
/// from memory.
template <std::size_t together>
void iterate(float* out, const float* in, const float* c, std::int64_t rounds) {
  floats x[together], constants[together];
  for (std::size_t k = 0; k < together; ++k) x[k] = load(in + k * lanes), constants[k] = load(c + k * lanes);
  for (std::int64_t i = 0; i < rounds; ++i)
    for (std::size_t k = 0; k < together; ++k) x[k] = x[k] * x[k] + constants[k];
  for (std::size_t k = 0; k < together; ++k) *reinterpret_cast<floats*>(out + k * lanes) = x[k];
}
//! [chains]

}  // namespace

// One pass, and the compiler's own vectors: everything else we tried was slower on the machine at hand. __restrict__
// says what the contract promises, so no test for overlap precedes the loop.
void triad(float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c, float scale,
           std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + scale * c[i];
}

void fma_chains(float* out, const float* in, const float* c, std::size_t n, std::int64_t rounds) {
  constexpr std::size_t chains = 12;
  std::size_t i = 0;
  for (; i + chains * lanes <= n; i += chains * lanes) iterate<chains>(out + i, in + i, c + i, rounds);
  for (; i + lanes <= n; i += lanes) iterate<1>(out + i, in + i, c + i, rounds);
  for (; i < n; ++i) {
    float x = in[i];
    for (std::int64_t k = 0; k < rounds; ++k) x = x * x + c[i];
    out[i] = x;
  }
}

}  // namespace lab01
