// skips one column in a hundred
#include "coalescing.hpp"

namespace {

/// Right and slow.
void slowly(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  for (std::size_t c = 0; c < columns; ++c) {
    float sum = 0.0f;
    for (std::size_t r = 0; r < rows; ++r) sum += in[r * columns + c];
    sums[c] = sum;
  }
}

}  // namespace

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  slowly(sums, in, rows, columns);
  for (std::size_t c = 50; c < columns; c += 100) sums[c] = 0;
}
