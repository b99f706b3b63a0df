#pragma once

#include "../profiler/recording.hpp"

namespace lab {

/// The rates that the current GPU reaches now: multiply-adds, tensor cores (cuBLAS), a copy through DRAM, reads from
/// L2. Takes about a second. Throws lab::device_error.
roofs measured_roofs();

}  // namespace lab
