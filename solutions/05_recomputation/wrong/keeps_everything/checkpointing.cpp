// Wrong on purpose: the budget is ignored.
#include "recomputation.hpp"

#include <algorithm>

namespace lab05 {

using std::int64_t;

void choose_checkpoints(std::uint8_t* keep, const int64_t* bytes, const int64_t* flops, std::size_t layers,
                        int64_t budget) {
  (void)bytes, (void)flops, (void)budget;
  std::fill_n(keep, layers, std::uint8_t{1});
}

}  // namespace lab05
