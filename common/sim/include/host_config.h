// The simulated device has this header's contents in cuda_runtime.h.
#pragma once
#include "cuda_runtime.h"
