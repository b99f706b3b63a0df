#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include "tiling.hpp"

using v8 = float __attribute__((vector_size(32)));
struct free_it { void operator()(void* p) const { std::free(p); } };

void lab06::gemm(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  const std::size_t width = (n + 7) / 8;
  std::unique_ptr<v8[], free_it> packed(static_cast<v8*>(std::aligned_alloc(64, (k * width * sizeof(v8) + 63) / 64 * 64)));
  if (!packed) throw std::bad_alloc();
  for (std::size_t p = 0; p < k; ++p)
    for (std::size_t j = 0; j < width; ++j) {
      v8 v{};
      std::memcpy(&v, b + p * n + 8 * j, (8 * j + 8 <= n ? 8 : n - 8 * j) * sizeof(float));
      packed[p * width + j] = v;
    }
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < width; ++j) {
      v8 s{};
      for (std::size_t p = 0; p < k; ++p) s += a[i * k + p] * packed[p * width + j];
      std::memcpy(c + i * n + 8 * j, &s, (8 * j + 8 <= n ? 8 : n - 8 * j) * sizeof(float));
    }
}
