#ifdef __x86_64__
#include <immintrin.h>
#endif
#include <array>
#include <bit>
#include <concepts>
#include <memory>
#include <numeric>
#include <ranges>
#include <span>
#include <tuple>
#include "decode.hpp"

namespace lab10 {

namespace {

template <std::integral... Parts>
constexpr std::int64_t product(Parts... parts) {
  return (std::int64_t{1} * ... * parts);
}

auto rows_and_columns(const shape& s) {
  return std::array{std::tuple{product(s.heads + 2 * s.kv_heads, s.size), product(s.width)}, std::tuple{product(s.width), product(s.heads, s.size)},
                    std::tuple{product(2, s.hidden), product(s.width)}, std::tuple{product(s.width), product(s.hidden)}};
}

std::int64_t elements_of_layer(const shape& s) {
  auto sizes = rows_and_columns(s);
  auto each = sizes | std::views::transform([](const auto& m) { return std::apply([](auto r, auto c) { return r * c; }, m); });
  return std::accumulate(each.begin(), each.end(), std::int64_t{0});
}

#if defined(__AVX512F__)
struct lanes {
  static constexpr std::size_t count = 16;
  __m512 sum = _mm512_setzero_ps();
  void add(const std::uint16_t* w, const float* x) {
    const __m512i wide = _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w))), 16);
    sum = _mm512_fmadd_ps(_mm512_castsi512_ps(wide), _mm512_loadu_ps(x), sum);
  }
  float total() const { return _mm512_reduce_add_ps(sum); }
};
#elif defined(__AVX2__)
struct lanes {
  static constexpr std::size_t count = 8;
  __m256 sum = _mm256_setzero_ps();
  void add(const std::uint16_t* w, const float* x) {
    const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w))), 16);
    sum = _mm256_add_ps(sum, _mm256_mul_ps(_mm256_castsi256_ps(wide), _mm256_loadu_ps(x)));
  }
  float total() const {
    alignas(32) float parts[8];
    _mm256_store_ps(parts, sum);
    return std::accumulate(std::begin(parts), std::end(parts), 0.0f);
  }
};
#elif defined(__x86_64__)
struct lanes {
  static constexpr std::size_t count = 4;
  __m128 sum = _mm_setzero_ps();
  void add(const std::uint16_t* w, const float* x) {
    const __m128i narrow = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(w));
    sum = _mm_add_ps(sum, _mm_mul_ps(_mm_castsi128_ps(_mm_unpacklo_epi16(_mm_setzero_si128(), narrow)), _mm_loadu_ps(x)));
  }
  float total() const {
    float parts[4];
    _mm_storeu_ps(parts, sum);
    return parts[0] + parts[1] + parts[2] + parts[3];
  }
};
#else
struct lanes {
  static constexpr std::size_t count = 4;
  std::array<float, count> sum{};
  void add(const std::uint16_t* w, const float* x) {
    for (std::size_t i = 0; i < count; ++i) sum[i] += std::bit_cast<float>(std::uint32_t{w[i]} << 16) * x[i];
  }
  float total() const { return std::accumulate(sum.begin(), sum.end(), 0.0f); }
};
#endif

}  // namespace

std::int64_t weight_bytes(const shape& s) {
  return 2 * (product(s.vocabulary, s.width) + s.width + s.layers * (elements_of_layer(s) + 2 * std::int64_t{s.width}));
}
std::int64_t cache_bytes(const shape& s, std::int64_t tokens) { return product(2, 2, s.layers, s.kv_heads, s.size, tokens); }
std::int64_t token_bytes(const shape& s, std::int64_t position) { return weight_bytes(s) + cache_bytes(s, position + 1); }
double intensity(const shape& s, std::int64_t position) {
  const auto multiply_adds = product(s.vocabulary, s.width) + s.layers * elements_of_layer(s) + product(2, s.layers, s.heads, s.size, position + 1);
  return 2.0 * static_cast<double>(multiply_adds) / static_cast<double>(token_bytes(s, position));
}
double least_seconds(const shape& s, std::int64_t position, double bytes_per_second) {
  return static_cast<double>(token_bytes(s, position)) / bytes_per_second;
}

void matvec_host(float* y, const std::uint16_t* w, const float* x, std::size_t rows, std::size_t columns) {
  const auto in = std::make_unique<float[]>(columns);
  std::ranges::copy(std::span(x, columns), in.get());
  for (const std::size_t r : std::views::iota(std::size_t{0}, rows)) {
    lanes sum;
    std::size_t c = 0;
    for (; c + lanes::count <= columns; c += lanes::count) sum.add(w + r * columns + c, in.get() + c);
    float rest = 0;
    for (; c < columns; ++c) rest += std::bit_cast<float>(std::uint32_t{w[r * columns + c]} << 16) * in[c];
    y[r] = sum.total() + rest;
  }
}

}  // namespace lab10
