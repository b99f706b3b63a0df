// What one core can do at most, found out by doing it: a triad that moves no byte too many, and enough independent
// multiply-adds that no unit ever waits. How this was found: WORKLOG.md.
#include "accounting.hpp"

#ifdef __AVX__
#include <immintrin.h>
#endif

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

/// A plain store reads the line that it overwrites; this one does not. `to` starts at a multiple of `wide`.
void store_around_caches(float* to, floats value) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, (__m512)value);
#elif defined(__AVX__)
  _mm256_stream_ps(to, (__m256)value);
#else
  *reinterpret_cast<floats*>(to) = value;
#endif
}

//! [chains]
/// A multiply-add takes four cycles or so, and two units take a new one every cycle: fewer than eight chains starve
/// them. Twelve, and the constant, still fit into 16 registers.
template <std::size_t together>
void iterate(float* out, const float* in, float c, std::int64_t rounds) {
  floats x[together];
  for (std::size_t k = 0; k < together; ++k) x[k] = load(in + k * lanes);
  for (std::int64_t i = 0; i < rounds; ++i)
    for (std::size_t k = 0; k < together; ++k) x[k] = x[k] * x[k] + c;
  for (std::size_t k = 0; k < together; ++k) *reinterpret_cast<floats*>(out + k * lanes) = x[k];
}
//! [chains]

}  // namespace

//! [triad]
void triad(float* a, const float* b, const float* c, float scale, std::size_t n) {
  std::size_t i = 0;
  for (; i < n && reinterpret_cast<std::uintptr_t>(a + i) % wide != 0; ++i) a[i] = b[i] + scale * c[i];
  constexpr std::size_t line = 64 / sizeof(float), ahead = 8 * line;
  for (; i + line <= n; i += line) {
    __builtin_prefetch(b + i + ahead);
    __builtin_prefetch(c + i + ahead);
    for (std::size_t j = i; j < i + line; j += lanes) store_around_caches(a + j, load(b + j) + scale * load(c + j));
  }
  for (; i < n; ++i) a[i] = b[i] + scale * c[i];
#ifdef __AVX__
  _mm_sfence();  // whoever reads `a` next finds it written
#endif
}
//! [triad]

void fma_chains(float* out, const float* in, float c, std::size_t n, std::int64_t rounds) {
  constexpr std::size_t chains = 12;
  std::size_t i = 0;
  for (; i + chains * lanes <= n; i += chains * lanes) iterate<chains>(out + i, in + i, c, rounds);
  for (; i + lanes <= n; i += lanes) iterate<1>(out + i, in + i, c, rounds);
  for (; i < n; ++i) {
    float x = in[i];
    for (std::int64_t k = 0; k < rounds; ++k) x = x * x + c;
    out[i] = x;
  }
}

}  // namespace lab01
