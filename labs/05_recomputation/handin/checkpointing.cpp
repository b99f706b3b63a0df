// What to keep for the backward pass when not everything fits. The skeleton keeps everything, which recomputes no FLOPs
// but takes more memory than there is.
#include "recomputation.hpp"

#include <algorithm>

namespace lab05 {

void choose_checkpoints(std::uint8_t* keep, const std::int64_t* bytes, const std::int64_t* flops, std::size_t layers,
                        std::int64_t budget) {
  // TODO(lab05.checkpoints_correct): stay within the budget, and recompute as little as possible.
  // TODO(lab05.checkpoints_long): 257 layers have 2^257 plans; trying all of them is for small chains.
  (void)bytes, (void)flops, (void)budget;  // delete this line once they are used
  std::fill_n(keep, layers, std::uint8_t{1});
}

}  // namespace lab05
