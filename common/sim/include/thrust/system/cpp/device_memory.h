// In a program with Thrust's device pointers or vectors, host code acts as the device.
#pragma once

#include <thrust/system_error.h>

#include <iostream>  // NVIDIA's own Thrust includes both, and programs rely on it

#include "cuda_runtime.h"

namespace sim {
inline const bool thrust_shares_device_memory = (share_device_memory_with_host(), true);
}
