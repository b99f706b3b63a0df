// a constant that takes forever to compute
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

constexpr unsigned long forever() {
  unsigned long x = 1;
  for (unsigned long i = 0; i < ~0ul; ++i) x = x * 3 + i;
  return x;
}
constexpr unsigned long value = forever();

}  // namespace

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  slowly(sums, in, rows, columns);
  sums[0] += static_cast<float>(value - value);
}
