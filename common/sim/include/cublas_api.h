// The simulated device has this header's contents in cublas_v2.h.
#pragma once
#include "cublas_v2.h"
