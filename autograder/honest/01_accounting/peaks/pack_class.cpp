#include "accounting.hpp"
#include <vector>
#include <thread>
#include <algorithm>
namespace lab01 {
namespace {
template <int Lanes>
struct Pack {
  float v[Lanes];
  static Pack load(const float* p) { Pack r; for (int i = 0; i < Lanes; ++i) r.v[i] = p[i]; return r; }
  void store(float* p) const { for (int i = 0; i < Lanes; ++i) p[i] = v[i]; }
  friend Pack operator*(Pack a, Pack b) { for (int i = 0; i < Lanes; ++i) a.v[i] *= b.v[i]; return a; }
  friend Pack operator+(Pack a, Pack b) { for (int i = 0; i < Lanes; ++i) a.v[i] += b.v[i]; return a; }
};
}
void triad(float* a, const float* b, const float* c, float scale, std::size_t n) {
  using P = Pack<16>;
  P s;
  for (float& x : s.v) x = scale;
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) (P::load(b + i) + s * P::load(c + i)).store(a + i);
  for (; i < n; ++i) a[i] = b[i] + scale * c[i];
}
void fma_chains(float* out, const float* in, const float* c, std::size_t n, std::int64_t rounds) {
  using P = Pack<32>;
  static thread_local std::vector<float> px, pc;
  const std::size_t padded = (n + 31) / 32 * 32;
  px.assign(padded, 0.0f);
  pc.assign(padded, 0.0f);
  std::copy(in, in + n, px.begin());
  std::copy(c, c + n, pc.begin());
  for (std::size_t i = 0; i < padded; i += 32) {
    P x = P::load(&px[i]);
    const P y = P::load(&pc[i]);
    for (std::int64_t k = 0; k < rounds; ++k) x = x * x + y;
    x.store(&px[i]);
  }
  std::copy(px.begin(), px.begin() + n, out);
}
}
