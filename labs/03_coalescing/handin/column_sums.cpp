// The sum of each column, on the CPU: correct but slow. A cache line is 64 bytes, 16 floats, and arrives whole: count
// how many floats of each line this loop uses before the line is evicted.
#include "coalescing.hpp"

namespace lab03 {

void column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  // TODO(lab03.column_sums_throughput): use every whole line while it is in the cache, and let the compiler use wide
  // registers.
  for (std::size_t c = 0; c < columns; ++c) {
    float sum = 0.0f;
    for (std::size_t r = 0; r < rows; ++r) sum += in[r * columns + c];
    sums[c] = sum;
  }
}

}  // namespace lab03
