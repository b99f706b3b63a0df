// A scaled copy on one core: right, and slow. Count how many times this loop comes back to the same cache line.
#include "topic.hpp"

namespace lab00 {

void scale_host(float* out, const float* in, std::size_t n) {
  // TODO(lab00.scale_host_throughput): use a line whole while it is there.
  constexpr std::size_t stride = 16;  // floats in a line
  for (std::size_t start = 0; start < stride; ++start)
    for (std::size_t i = start; i < n; i += stride) out[i] = 3.0f * in[i];
}

}  // namespace lab00
