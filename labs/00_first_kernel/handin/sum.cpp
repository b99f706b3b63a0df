// A sum on one core of the CPU. Right, but each addition waits for the one before it.
#include "first_kernel.hpp"

namespace lab00 {

float sum(const float* in, std::size_t n) {
  // TODO(lab00.sum_throughput): puzzle 5's idea: several sums that do not wait for each other, added up at the end.
  float total = 0.0f;
  for (std::size_t i = 0; i < n; ++i) total += in[i];
  return total;
}

}  // namespace lab00
