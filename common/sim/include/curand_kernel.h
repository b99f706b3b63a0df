// Random numbers in kernels. Philox4x32-10 gives cuRAND's numbers; XORWOW uses the same recurrence with different
// seeding, so its sequence differs.
#pragma once
#define CURAND_KERNEL_H_  // programs test for it

#include <cmath>

#include "cuda_runtime.h"
#include "curand.h"

/// Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3 (SC 2011). A counter, encrypted in ten
/// rounds.
struct curandStatePhilox4_32_10 {
  uint4 counter;
  uint4 output;
  uint2 key;
  unsigned state;  ///< number of outputs already used
  int has_spare;
  float spare;
  int has_spare_double;
  double spare_double;
};
using curandStatePhilox4_32_10_t = curandStatePhilox4_32_10;

/// Marsaglia: Xorshift RNGs (2003), with a Weyl sequence.
struct curandStateXORWOW {
  unsigned weyl, v[5];
  int has_spare;
  float spare;
  int has_spare_double;
  double spare_double;
};
using curandStateXORWOW_t = curandStateXORWOW;
using curandState = curandStateXORWOW;
using curandState_t = curandStateXORWOW;
using curandStateMRG32k3a = curandStateXORWOW;  // not the same generator, but it serves the same purpose
using curandStateMRG32k3a_t = curandStateXORWOW;

namespace sim {

inline uint4 philox(uint4 c, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const unsigned long long a = 0xD2511F53ull * c.x, b = 0xCD9E8D57ull * c.z;
    c = {static_cast<unsigned>(b >> 32) ^ c.y ^ key.x, static_cast<unsigned>(b),
         static_cast<unsigned>(a >> 32) ^ c.w ^ key.y, static_cast<unsigned>(a)};
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return c;
}
inline void add_to_counter(curandStatePhilox4_32_10* s, unsigned long long n) {
  const unsigned long long low = (static_cast<unsigned long long>(s->counter.y) << 32 | s->counter.x), sum = low + n;
  s->counter.x = static_cast<unsigned>(sum);
  s->counter.y = static_cast<unsigned>(sum >> 32);
  if (sum < low && ++s->counter.z == 0) ++s->counter.w;
}
inline unsigned long long splitmix(unsigned long long& x) {
  unsigned long long z = (x += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

}  // namespace sim

inline void skipahead(unsigned long long n, curandStatePhilox4_32_10* s) {
  const unsigned long long at = s->state + n;
  sim::add_to_counter(s, at / 4);
  s->state = static_cast<unsigned>(at % 4);
  s->output = sim::philox(s->counter, s->key);
}
inline void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                        curandStatePhilox4_32_10* s) {
  *s = {};
  s->key = {static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
  s->counter.z = static_cast<unsigned>(sequence);
  s->counter.w = static_cast<unsigned>(sequence >> 32);
  skipahead(offset, s);
}
inline unsigned curand(curandStatePhilox4_32_10* s) {
  const unsigned words[4] = {s->output.x, s->output.y, s->output.z, s->output.w};
  const unsigned value = words[s->state++];
  if (s->state == 4) {
    s->state = 0;
    sim::add_to_counter(s, 1);
    s->output = sim::philox(s->counter, s->key);
  }
  return value;
}
inline uint4 curand4(curandStatePhilox4_32_10* s) {
  uint4 four;
  four.x = curand(s);
  four.y = curand(s);
  four.z = curand(s);
  four.w = curand(s);
  return four;
}

inline void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                        curandStateXORWOW* s) {
  *s = {};
  unsigned long long x = seed * 0x9E3779B97F4A7C15ull + sequence;
  for (unsigned& v : s->v) v = static_cast<unsigned>(sim::splitmix(x) >> 16) | 1;
  s->weyl = static_cast<unsigned>(sim::splitmix(x)) + 362437u * static_cast<unsigned>(offset);
}
inline unsigned curand(curandStateXORWOW* s) {
  const unsigned t = s->v[0] ^ (s->v[0] >> 2);
  for (int i = 0; i < 4; ++i) s->v[i] = s->v[i + 1];
  s->v[4] = s->v[4] ^ (s->v[4] << 4) ^ t ^ (t << 1);
  return s->v[4] + (s->weyl += 362437u);
}

/// In (0, 1]: may be one, but never zero.
template <class State>
float curand_uniform(State* s) {
  return static_cast<float>(curand(s)) * 2.3283064e-10f + 1.1641532e-10f;
}
template <class State>
double curand_uniform_double(State* s) {
  const unsigned long long low = curand(s), high = curand(s);
  return static_cast<double>((high << 21) ^ low) * 0x1p-53 + 0x1p-54;
}
inline float4 curand_uniform4(curandStatePhilox4_32_10* s) {
  float4 four;
  four.x = curand_uniform(s);
  four.y = curand_uniform(s);
  four.z = curand_uniform(s);
  four.w = curand_uniform(s);
  return four;
}
/// Box and Muller's two normal numbers from two uniform ones.
template <class State>
float2 curand_normal2(State* s) {
  const float u = curand_uniform(s), v = curand_uniform(s) * 6.2831853f, r = sqrtf(-2 * logf(u));
  return {r * sinf(v), r * cosf(v)};
}
template <class State>
float curand_normal(State* s) {
  if (s->has_spare) {
    s->has_spare = 0;
    return s->spare;
  }
  const float2 two = curand_normal2(s);
  s->has_spare = 1;
  s->spare = two.y;
  return two.x;
}
inline float4 curand_normal4(curandStatePhilox4_32_10* s) {
  const float2 a = curand_normal2(s), b = curand_normal2(s);
  return {a.x, a.y, b.x, b.y};
}
template <class State>
double curand_normal_double(State* s) {
  if (s->has_spare_double) {
    s->has_spare_double = 0;
    return s->spare_double;
  }
  const double u = curand_uniform_double(s), v = curand_uniform_double(s) * 6.283185307179586, r = sqrt(-2 * log(u));
  s->has_spare_double = 1;
  s->spare_double = r * cos(v);
  return r * sin(v);
}
template <class State>
float curand_log_normal(State* s, float mean, float deviation) {
  return expf(mean + deviation * curand_normal(s));
}
template <class State>
unsigned curand_poisson(State* s, double lambda) {
  if (lambda > 64) {  // near enough to normal
    const double x = lambda + sqrt(lambda) * curand_normal_double(s);
    return x < 0 ? 0u : static_cast<unsigned>(x + 0.5);
  }
  const double limit = exp(-lambda);
  unsigned k = 0;
  for (double p = curand_uniform_double(s); p > limit; p *= curand_uniform_double(s)) ++k;
  return k;
}
