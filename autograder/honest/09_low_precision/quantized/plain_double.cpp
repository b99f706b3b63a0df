#include "low_precision.hpp"

namespace lab09 {

void matvec_int8(float* y, const std::int8_t* q, const float* scale, const float* x, std::size_t rows, std::size_t columns) {
  for (std::size_t r = 0; r < rows; r++) {
    double sum = 0;
    for (std::size_t c = 0; c < columns; c++) sum += (double)q[r * columns + c] * scale[r * (columns / 64) + c / 64] * x[c];
    y[r] = (float)sum;
  }
}

void matvec_int4(float* y, const std::uint8_t* q, const float* scale, const float* x, std::size_t rows, std::size_t columns) {
  for (std::size_t r = 0; r < rows; r++) {
    double sum = 0;
    for (std::size_t c = 0; c < columns; c++) {
      const std::size_t g = c / 64, i = c % 64;
      const unsigned byte = q[r * (columns / 2) + g * 32 + i % 32];
      const int w = (int)(i < 32 ? byte & 15u : byte >> 4) - 8;
      sum += (double)w * scale[r * (columns / 64) + g] * x[c];
    }
    y[r] = (float)sum;
  }
}

}  // namespace lab09
