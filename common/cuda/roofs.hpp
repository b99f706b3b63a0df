#pragma once

#include "../profiler/recording.hpp"

namespace lab {

/// What the current GPU reaches now: multiply-adds, tensor cores by cuBLAS, a copy through DRAM, reading from L2. Takes
/// about a second. Throws lab::device_error.
roofs measured_roofs();

}  // namespace lab
