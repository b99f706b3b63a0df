// Answered by the simulated device.
#pragma once
#include "cublas_v2.h"
