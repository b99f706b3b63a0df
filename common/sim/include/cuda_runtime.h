// The simulated device's <cuda_runtime.h>: ordinary CUDA C++ under a host compiler. See common/sim/README.md.
#pragma once

#include "sim/before_cxx17.h"

// Programs test these to see which headers they have.
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__
#define __VECTOR_TYPES_H__

// Programs rely on what CUDA's own header includes.
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <new>
#include <utility>

#include "sim/api.h"
#include "sim/atomic.h"
#include "sim/bulk.h"
#include "sim/device.h"
#include "sim/graph.h"
#include "sim/launch.h"
#include "sim/math.h"
#include "sim/simd.h"
#include "sim/texture.h"
#include "sim/warp.h"

// Removed in CUDA 13, but many programs still use it.
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
