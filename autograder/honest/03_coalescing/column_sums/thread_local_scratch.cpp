#include <vector>
#include "coalescing.hpp"

thread_local std::vector<float> scratch;
thread_local int depth = 1;

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  thread_local std::vector<float> rest(16);
  ++depth;
  scratch.assign(columns, 0.0f);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) scratch[c] += in[r * columns + c];
  std::copy(scratch.begin(), scratch.end(), sums);
  rest[0] = sums[0];
}
