// Wrong on purpose: walks down each column, and uses one float of each cache line before it is gone.
#include "coalescing.hpp"

namespace lab03 {

void column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  for (std::size_t c = 0; c < columns; ++c) {
    double sum = 0.0;
    for (std::size_t r = 0; r < rows; ++r) sum += static_cast<double>(in[r * columns + c]);
    sums[c] = static_cast<float>(sum);
  }
}

}  // namespace lab03
