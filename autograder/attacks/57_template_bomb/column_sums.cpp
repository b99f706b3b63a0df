// a type whose size doubles a thousand times
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

template <int depth>
struct bomb {
  using left = typename bomb<depth - 1>::left;
  using right = typename bomb<depth - 1>::right;
};

}  // namespace

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  bomb<100'000>::left value;
  slowly(sums, in, rows, columns);
}
