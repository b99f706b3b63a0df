// Answered by the simulated device.
#pragma once
#include "cuda_runtime.h"
