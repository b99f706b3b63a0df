// The terms of the roofline model (Williams, Waterman and Patterson, 2009): work, intensity, ridge point, attainable
// rate.
#pragma once

#include <algorithm>

namespace lab {

/// The work that the algorithm requires, whatever the code does.
struct work {
  double flops = 0.0;
  double bytes = 0.0;  ///< to and from DRAM, each input once, each output once
  double arithmetic_intensity() const { return flops / bytes; }  ///< FLOP per byte
};

/// Ceilings of one machine. Measured, never taken from a datasheet.
struct roofline {
  double peak_flops_per_second = 0.0;
  double peak_bytes_per_second = 0.0;
  double ridge_point() const { return peak_flops_per_second / peak_bytes_per_second; }  ///< FLOP per byte
  /// The highest rate that the work can reach, in FLOP per second.
  double attainable(const work& w) const {
    return std::min(peak_flops_per_second, w.arithmetic_intensity() * peak_bytes_per_second);
  }
};

}  // namespace lab
