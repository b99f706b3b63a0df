// What a token costs, and the product of a bf16 matrix and a vector on one core. The product is correct but slow.
#include "decode.hpp"

#include <cstring>

namespace lab10 {

std::int64_t weight_bytes(const shape& s) {
  // TODO(lab10.formulas_correct): which arrays of the contract does one token read, and how large is each?
  (void)s;  // delete this line once it is used
  return 0;
}

std::int64_t cache_bytes(const shape& s, std::int64_t tokens) {
  // TODO(lab10.formulas_correct): how many heads does the cache have?
  (void)s, (void)tokens;  // delete this line, too
  return 0;
}

std::int64_t token_bytes(const shape& s, std::int64_t position) {
  // TODO(lab10.formulas_correct)
  (void)s, (void)position;  // delete this line, too
  return 0;
}

double intensity(const shape& s, std::int64_t position) {
  // TODO(lab10.formulas_correct): how many multiply-adds is a weight in? And a number in the cache?
  (void)s, (void)position;  // delete this line, too
  return 0;
}

double least_seconds(const shape& s, std::int64_t position, double bytes_per_second) {
  // TODO(lab10.formulas_correct)
  (void)s, (void)position, (void)bytes_per_second;  // delete this line, too
  return 0;
}

void matvec_host(float* y, const std::uint16_t* w, const float* x, std::size_t rows, std::size_t columns) {
  // TODO(lab10.host_throughput): each addition waits for the one before. How do 8 or 16 weights become floats at once?
  for (std::size_t r = 0; r < rows; ++r) {
    float sum = 0.0f;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::uint32_t bits = std::uint32_t{w[r * columns + c]} << 16;
      float weight;
      std::memcpy(&weight, &bits, sizeof weight);
      sum += weight * x[c];
    }
    y[r] = sum;
  }
}

}  // namespace lab10
