// Sixteen sums, and the library adds up what is left.
#include <array>
#include <numeric>
#include <span>

#include "first_kernel.hpp"

float lab00::sum(const float* in, std::size_t n) {
  std::array<float, 16> sums{};
  std::span<const float> left(in, n);
  for (; left.size() >= sums.size(); left = left.subspan(sums.size()))
    for (std::size_t k = 0; float& s : sums) s += left[k++];
  return std::reduce(left.begin(), left.end(), std::reduce(sums.begin(), sums.end()));
}
