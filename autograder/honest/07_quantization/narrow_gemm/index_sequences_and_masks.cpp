// A kernel for each width by index_sequence; AVX2 with masks if the CPU has it, vectors of the compiler's otherwise.
#ifdef __x86_64__
#include <immintrin.h>
#endif
#include <array>
#include <cstring>
#include <utility>
#include <vector>
#include "quantization.hpp"
#ifdef __x86_64__
namespace {
template <std::size_t V>
__attribute__((target("avx2,fma"))) void rows_of(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  const std::size_t last = n - 8 * (V - 1);
  alignas(32) int on[8];
  for (std::size_t i = 0; i < 8; ++i) on[i] = i < last ? -1 : 0;
  const __m256i mask = _mm256_load_si256(reinterpret_cast<const __m256i*>(on));
  std::vector<float> wide(k * 8 * V);
  for (std::size_t i = 0; i < k; ++i) std::memcpy(&wide[i * 8 * V], b + i * n, n * sizeof(float));
  std::size_t r = 0;
  auto some = [&]<std::size_t R>(std::integral_constant<std::size_t, R>) __attribute__((target("avx2,fma"), always_inline)) {
    __m256 sum[R][V];
    for (auto& row : sum)
      for (auto& s : row) s = _mm256_setzero_ps();
    for (std::size_t i = 0; i < k; ++i) {
      const float* p = wide.data() + i * 8 * V;
      for (std::size_t x = 0; x < R; ++x) {
        const __m256 one = _mm256_broadcast_ss(a + (r + x) * k + i);
        for (std::size_t v = 0; v < V; ++v) sum[x][v] = _mm256_fmadd_ps(one, _mm256_loadu_ps(p + 8 * v), sum[x][v]);
      }
    }
    for (std::size_t x = 0; x < R; ++x) {
      for (std::size_t v = 0; v + 1 < V; ++v) _mm256_storeu_ps(c + (r + x) * n + 8 * v, sum[x][v]);
      _mm256_maskstore_ps(c + (r + x) * n + 8 * (V - 1), mask, sum[x][V - 1]);
    }
    r += R;
  };
  constexpr std::size_t many = V <= 2 ? 6 : V <= 4 ? 3 : 1;
  while (r + many <= m) some(std::integral_constant<std::size_t, many>{});
  while (r < m) some(std::integral_constant<std::size_t, 1>{});
}
using function = void (*)(float*, const float*, const float*, std::size_t, std::size_t, std::size_t);
template <std::size_t... I>
constexpr std::array<function, sizeof...(I)> table(std::index_sequence<I...>) { return {rows_of<I + 1>...}; }
constexpr auto by_width = table(std::make_index_sequence<8>{});
}  // namespace
#endif
void lab07::narrow_gemm(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return by_width[(n - 1) / 8](c, a, b, m, n, k);
#endif
  std::memset(c, 0, m * n * sizeof *c);
  for (std::size_t r = 0; r < m; ++r)
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j < n; ++j) c[r * n + j] += a[r * k + i] * b[i * n + j];
}
