// the other half: the same function, compiled without reports
#include "coalescing.hpp"

__attribute__((weak, noinline)) void move_one(float* to, const float* from) { *to = *from; }

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  for (std::size_t c = 0; c < columns; ++c) {
    float sum = 0.0f;
    for (std::size_t r = 0; r < rows; ++r) {
      float next;
      move_one(&next, in + r * columns + c);
      sum += next;
    }
    sums[c] = sum;
  }
}
