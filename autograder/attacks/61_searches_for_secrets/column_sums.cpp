// searches heap and stack for a seed or signature
#include "coalescing.hpp"

#include <cstdint>
#include <cstdlib>

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
  auto* heap = static_cast<std::uint64_t*>(std::malloc(1 << 20));
  std::uint64_t found = 0;
  for (int i = 0; i < (1 << 17); ++i) found ^= heap[i];
  volatile std::uint64_t sink = found;
  (void)sink;
  std::free(heap);
  slowly(sums, in, rows, columns);
}
