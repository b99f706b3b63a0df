// profile_demo.cu on the CPU:  ./course profile common/tests/programs/profile_demo_host.cpp --backend cpu
#include <lab/range.hpp>

#include <cstdio>
#include <vector>

int main() {
  constexpr int n = 384;
  constexpr double size = n;
  std::vector<float> a(n * n, 1.0f), b(n * n, 2.0f), c(n * n), sum(16 << 20);
  for (int layer = 0; layer < 3; ++layer) {
    const lab::range here("layer");
    {
      const lab::range inner("product", {.flops = 2 * size * size * size, .bytes = 12 * size * size});
      for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k)
          for (int j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
    const lab::range inner("add", {.flops = 1.0 * sum.size(), .bytes = 8.0 * sum.size()});
    for (float& x : sum) x += 1.0f;
  }
  std::printf("%g %g\n", c[0], sum[0]);
}
