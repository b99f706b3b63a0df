// Leaves 16 bytes in each call, and is so slow that they add up to little.
#include <chrono>
#include <thread>

#include "coalescing.hpp"

namespace {
float* volatile kept;
}

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  kept = new float[4];
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  for (std::size_t c = 0; c < columns; ++c) sums[c] = 0;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) sums[c] += in[r * columns + c];
}
