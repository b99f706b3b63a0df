#include <cstddef>
#include <deque>
#include <queue>
#include <stack>
#include <vector>
#include "tiling.hpp"

inline std::vector<float> shared_scratch(256);
struct Config {
  std::size_t tile = 48;
  static Config& instance() { static Config c; return c; }
 private:
  Config() { tile = shared_scratch.size() / 4; }
};
inline int generation = [] { return 7; }();

void lab06::gemm(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  struct tile { std::size_t i, j; };
  std::queue<tile> work;
  const std::size_t t = Config::instance().tile;
  for (std::size_t i = 0; i < m; i += t) for (std::size_t j = 0; j < n; j += t) work.push({i, j});
  for (; !work.empty(); work.pop()) {
    const auto [i0, j0] = work.front();
    for (std::size_t i = i0; i < m && i < i0 + t; ++i) {
      for (std::size_t j = j0; j < n && j < j0 + t; ++j) c[i * n + j] = 0;
      for (std::size_t p = 0; p < k; ++p)
        for (std::size_t j = j0; j < n && j < j0 + t; ++j) c[i * n + j] += a[i * k + p] * b[p * n + j];
    }
  }
  std::stack<int> levels;
  levels.push(generation);
}
