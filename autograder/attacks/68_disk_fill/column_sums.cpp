// fills the disk
#include "coalescing.hpp"

#include <cstdio>

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
  if (std::FILE* file = std::fopen("/tmp/large", "w")) {
    static char block[1 << 20];
    for (int i = 0; i < 4096 && std::fwrite(block, 1, sizeof block, file) == sizeof block; ++i) {
    }
    std::fclose(file);
  }
  slowly(sums, in, rows, columns);
}
