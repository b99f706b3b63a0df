// Given: the answers that your formulas must match, found without formulas. This code puts blocks on a multiprocessor
// until one no longer fits, and assigns tiles one by one. Use it to check yours at small sizes; it is far too slow for
// large ones.
#pragma once

#include "machine.hpp"

namespace lab07 {

inline int blocks_that_fit(const kernel& by, const device& on) {
  std::int64_t registers_of_warp = 0;
  while (registers_of_warp < 32 * by.registers) registers_of_warp += on.register_unit;
  for (int blocks = 1;; ++blocks)
    if (blocks * by.threads > on.threads_of_sm || blocks > on.blocks_of_sm ||
        blocks * (by.threads / 32) * registers_of_warp > on.registers_of_sm ||
        blocks * (by.shared_bytes + on.reserved_bytes) > on.shared_bytes_of_sm)
      return blocks - 1;
}

struct dealt {
  std::int64_t tiles = 0, waves = 0;
  std::int64_t multiply_adds = 0;  ///< for which all waves have room, divided by k
};

inline dealt deal(const shape& s, const kernel& by, const device& on) {
  dealt result;
  const std::int64_t places = std::int64_t{on.multiprocessors} * blocks_that_fit(by, on);
  std::int64_t free = 0;
  for (std::int64_t row = 0; row < s.m; row += by.tile_m)
    for (std::int64_t column = 0; column < s.n; column += by.tile_n) {
      if (free == 0) {  // the next wave
        ++result.waves;
        result.multiply_adds += places * by.tile_m * by.tile_n;
        free = places;
      }
      ++result.tiles;
      --free;
    }
  return result;
}

}  // namespace lab07
