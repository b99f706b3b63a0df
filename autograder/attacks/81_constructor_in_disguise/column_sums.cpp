// a constructor with the priority of the compiler's own, which runs in the sandbox like any other
#include "coalescing.hpp"

static volatile bool ready = false;
__attribute__((constructor(99))) static void prepare() { ready = true; }

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  if (!ready) return;
  for (std::size_t c = 0; c < columns; ++c) {
    float sum = 0.0f;
    for (std::size_t r = 0; r < rows; ++r) sum += in[r * columns + c];
    sums[c] = sum;
  }
}
