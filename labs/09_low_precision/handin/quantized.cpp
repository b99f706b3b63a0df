// Quantized matrix-vector products on one core. The first is correct but slow: each weight becomes a float, and each
// addition waits for the previous one.
#include "low_precision.hpp"

namespace lab09 {

void matvec_int8(float* y, const std::int8_t* q, const float* scale, const float* x, std::size_t rows,
                 std::size_t columns) {
  // TODO(lab09.int8_throughput): how many operations does a weight cost? How often must a sum become a float?
  for (std::size_t r = 0; r < rows; ++r) {
    float sum = 0.0f;
    for (std::size_t c = 0; c < columns; ++c)
      sum += static_cast<float>(q[r * columns + c]) * scale[(r * columns + c) / int_group] * x[c];
    y[r] = sum;
  }
}

void matvec_int4(float* y, const std::uint8_t* q, const float* scale, const float* x, std::size_t rows,
                 std::size_t columns) {
  // TODO(lab09.matvec_correct): where in a byte are its two numbers?
  // TODO(lab09.int4_throughput): four numbers in 16 bits, and no shuffle.
  (void)q, (void)scale, (void)x, (void)columns;  // delete this line once they are used
  for (std::size_t r = 0; r < rows; ++r) y[r] = 0.0f;
}

}  // namespace lab09
