// Lab 00: what your files must define.
//
// Pointers of the device part are device pointers from cudaMalloc (256-byte aligned); inputs and outputs never overlap.
// Launch on `stream` and return without waiting. Sizes are at least 1.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace lab00 {

/// out = 3 * in, 16 bytes per thread and access; the last n % 4 elements one by one.
void scale(float* out,       // (n)
           const float* in,  // (n)
           int n, cudaStream_t stream);

/// The same on one core of the CPU.
void scale_host(float* out,       // (n)
                const float* in,  // (n)
                std::size_t n);

}  // namespace lab00
