// Wrong on purpose: writes through a null pointer.
#include "coalescing.hpp"

namespace lab03 {

void column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  for (std::size_t c = 0; c < columns; ++c) sums[c] = 0.0f;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) sums[c] += in[r * columns + c];
  volatile float* volatile nowhere = nullptr;  // volatile, or the compiler drops the store
  *nowhere = sums[0];
}

}  // namespace lab03
