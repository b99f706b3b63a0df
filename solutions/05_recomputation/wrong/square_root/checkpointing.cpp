// Wrong on purpose: a rule for equal layers and one budget.
#include "recomputation.hpp"

#include <algorithm>
#include <cmath>

namespace lab05 {

using std::int64_t;

void choose_checkpoints(std::uint8_t* keep, const int64_t* bytes, const int64_t* flops, std::size_t layers,
                        int64_t budget) {
  (void)bytes, (void)flops, (void)budget;
  const auto step = static_cast<std::size_t>(std::sqrt(static_cast<double>(layers)));
  for (std::size_t i = 0; i < layers; ++i) keep[i] = (i + 1) % step == 0;
}

}  // namespace lab05
