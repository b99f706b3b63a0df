// Wrong on purpose: a gigabyte on standard output at the first call; the sums are right and fast.
#include "coalescing.hpp"

#include <cstdio>
#include <string>

namespace lab03 {

void column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  static bool printed = false;
  if (!printed) {
    const std::string line(1 << 20, 'x');
    for (int i = 0; i < 1024; ++i) std::fwrite(line.data(), 1, line.size(), stdout);
    printed = true;
  }
  for (std::size_t c = 0; c < columns; ++c) sums[c] = 0.0f;
  std::size_t r = 0;
  for (; r + 6 <= rows; r += 6)
    for (std::size_t c = 0; c < columns; ++c) {
      float sum = sums[c];
      for (std::size_t k = 0; k < 6; ++k) sum += in[(r + k) * columns + c];
      sums[c] = sum;
    }
  for (; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) sums[c] += in[r * columns + c];
}

}  // namespace lab03
