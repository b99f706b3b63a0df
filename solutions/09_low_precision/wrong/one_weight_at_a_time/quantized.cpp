// One weight after the other.
#include "low_precision.hpp"

namespace lab09 {

void matvec_int8(float* y, const std::int8_t* q, const float* scale, const float* x, std::size_t rows,
                 std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r) {
    float sum = 0.0f;
    for (std::size_t c = 0; c < columns; ++c)
      sum += static_cast<float>(q[r * columns + c]) * scale[(r * columns + c) / int_group] * x[c];
    y[r] = sum;
  }
}

void matvec_int4(float* y, const std::uint8_t* q, const float* scale, const float* x, std::size_t rows,
                 std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r) {
    float sum = 0.0f;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::uint8_t both = q[r * columns / 2 + c / int_group * 32 + c % 32];
      const int code = (c % int_group < 32 ? both & 15 : both >> 4) - 8;
      sum += static_cast<float>(code) * scale[(r * columns + c) / int_group] * x[c];
    }
    y[r] = sum;
  }
}

}  // namespace lab09
