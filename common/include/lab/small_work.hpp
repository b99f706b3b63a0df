// Work of a given length: programs that do it differ only in the time they spend around it.
#pragma once

#include <cstdint>

namespace lab {

/// `rounds` multiplications, each dependent on the previous one.
inline std::int64_t small_work(std::int64_t rounds, std::int64_t start) {
  auto x = static_cast<std::uint64_t>(start);
  for (std::int64_t i = 0; i < rounds; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  return static_cast<std::int64_t>(x >> 1);
}

}  // namespace lab
