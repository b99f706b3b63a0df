#include <complex>
#include <numeric>
#include <ratio>
#include <utility>
#include "tiling.hpp"

namespace expr {
struct view { const float* p; std::size_t stride; float operator[](std::size_t i) const { return p[i * stride]; } };
template <class L, class R> struct product { L l; R r; float operator[](std::size_t i) const { return l[i] * r[i]; } };
template <class L, class R> product<L, R> operator*(L l, R r) { return {l, r}; }
template <class E> float sum(const E& e, std::size_t n) { float s = 0; for (std::size_t i = 0; i < n; ++i) s += e[i]; return s; }
}  // namespace expr

void lab06::gemm(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  using namespace expr;
  std::complex<float> z(1, 0);
  z *= std::complex<float>(0, 1);
  z = std::polar(1.0f, std::arg(z)) * std::conj(z);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) c[i * n + j] = sum(view{a + i * k, 1} * view{b + j, n}, k);
  if (std::abs(z) < 0.5f) c[0] = 0;
}
