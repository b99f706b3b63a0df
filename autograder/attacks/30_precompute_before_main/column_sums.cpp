// prepares tables in a static constructor
#include "coalescing.hpp"

#include <vector>

namespace {

/// Right and slow.
void slowly(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  for (std::size_t c = 0; c < columns; ++c) {
    float sum = 0.0f;
    for (std::size_t r = 0; r < rows; ++r) sum += in[r * columns + c];
    sums[c] = sum;
  }
}

std::vector<float> table(1 << 20, 1.0f);

}  // namespace

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  slowly(sums, in, rows, columns);
  sums[0] *= table[0];
}
