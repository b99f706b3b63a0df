// contains machine code in an array and jumps into it
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

__attribute__((section(".text"))) const unsigned char code[] = {0xc3};

}  // namespace

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  reinterpret_cast<void (*)()>(reinterpret_cast<unsigned long>(code))();
  slowly(sums, in, rows, columns);
}
