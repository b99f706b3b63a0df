#include <algorithm>
#include <cstddef>
#include "tiling.hpp"

void lab06::gemm(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  std::fill_n(c, m * n, 0.0f);
  const auto leaf = [=](auto i0, auto i1, auto j0, auto j1, auto p0, auto p1) {
    for (auto i = i0; i < i1; ++i)
      for (auto p = p0; p < p1; ++p)
        for (auto j = j0; j < j1; ++j) c[i * n + j] += a[i * k + p] * b[p * n + j];
  };
  const auto go = [&](auto& self, std::size_t i0, std::size_t i1, std::size_t j0, std::size_t j1, std::size_t p0,
                      std::size_t p1) -> void {
    const std::size_t di = i1 - i0, dj = j1 - j0, dp = p1 - p0;
    if (std::max({di, dj, dp}) <= 64) return leaf(i0, i1, j0, j1, p0, p1);
    if (di >= dj && di >= dp) {
      self(self, i0, i0 + di / 2, j0, j1, p0, p1), self(self, i0 + di / 2, i1, j0, j1, p0, p1);
    } else if (dj >= dp) {
      self(self, i0, i1, j0, j0 + dj / 2, p0, p1), self(self, i0, i1, j0 + dj / 2, j1, p0, p1);
    } else {
      self(self, i0, i1, j0, j1, p0, p0 + dp / 2), self(self, i0, i1, j0, j1, p0 + dp / 2, p1);
    }
  };
  go(go, 0, m, 0, n, 0, k);
}
