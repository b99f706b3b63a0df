// The terms of the roofline model (Williams, Waterman and Patterson, 2009).
#pragma once

namespace lab {

/// The work that the algorithm requires, whatever the code does.
struct work {
  double flops = 0.0;
  double bytes = 0.0;  ///< to and from DRAM, each input once, each output once
  double arithmetic_intensity() const { return flops / bytes; }  ///< FLOP per byte
};

}  // namespace lab
