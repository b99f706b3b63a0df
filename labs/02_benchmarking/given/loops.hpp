// Lab 02, given: three loops for Google Benchmark to time, and numbers for them. Include its header through this one: a
// hand-in may contain no inline assembly, so DoNotOptimize passes the value's address to an empty function of the
// library instead, which takes 1 or 2 ns.
#pragma once

#define BENCHMARK_HAS_NO_INLINE_ASSEMBLY
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace lab02 {

/// x.size() is a multiple of 64. The partial sums are independent, so the compiler can use vectors.
inline float sum(std::span<const float> x) {
  float parts[64] = {};
  for (std::size_t i = 0; i < x.size(); i += 64)
    for (std::size_t k = 0; k < 64; ++k) parts[k] += x[i + k];
  float all = 0;
  for (const float part : parts) all += part;
  return all;
}

/// y = factor x
inline void scale(std::span<float> y, std::span<const float> x, float factor) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = factor * x[i];
}

inline void sort(std::span<float> x) { std::sort(x.begin(), x.end()); }

/// New numbers for each seed. Seeding takes longer than sorting 16 of them.
inline std::vector<float> random_floats(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw;
  std::vector<float> x(n);
  for (float& v : x) v = draw(random);
  return x;
}

}  // namespace lab02
