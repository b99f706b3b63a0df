// The weights of the models that streaming.cu gets. The judge computes the same ones.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <lab/splitmix.hpp>

namespace lab12 {

/// Fills a layer's weights with numbers between -2 / sqrt(n) and 2 / sqrt(n).
inline void fill_layer(std::uint64_t seed, int layer, int n, float* to) {
  std::uint64_t state = seed + 0x5851F42D4C957F2Du * static_cast<std::uint64_t>(layer + 1);
  const float scale = 2 / std::sqrt(static_cast<float>(n)) * 0x1p-23f;
  const std::size_t count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  for (std::size_t i = 0; i < count; ++i)
    to[i] = static_cast<float>(static_cast<std::int32_t>(lab::splitmix64(state) >> 40) - (1 << 23)) * scale;
}

}  // namespace lab12
