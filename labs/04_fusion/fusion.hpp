// Lab 04, fusion: what your files must define.
//
// All matrices are row-major. All pointers of the device part are device pointers from cudaMalloc (256-byte aligned);
// inputs and outputs never overlap. Launch on `stream` and return without waiting. Sizes are at least 1; an element
// count fits an int; rows <= 1,000,000, which is more than a grid has blocks in y. Each function of yours launches one
// kernel, which reads every input and writes every output once, with enough blocks to fill a whole device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace lab04 {

// ---- gelu.cu: many kernels become one -----------------------------------------------------------------------------

/// The tanh form: out = 0.5 x (1 + tanh(0.79788456 (x + 0.044715 x^3))), for any finite x.
void gelu(float* out,       // (n)
          const float* in,  // (n)
          int n, cudaStream_t stream);

// ---- fused.cu -----------------------------------------------------------------------------------------------------

/// out = sin(x)^2 + cos(x)^2. Read x, even if you know the result.
void sin2_plus_cos2(float* out,       // (n)
                    const float* in,  // (n)
                    int n, cudaStream_t stream);

/// out(r, c) = residual(r, c) + gelu(in(r, c) + bias(c)).
void bias_gelu_residual(float* out,             // (rows, columns)
                        const float* in,        // (rows, columns)
                        const float* bias,      // (columns)
                        const float* residual,  // (rows, columns)
                        int rows, int columns, cudaStream_t stream);

/// out(r, c) = (in(r, c) - mean(r)) / sqrt(variance(r) + 1e-5); the variance is the mean of the squared distances from
/// the mean. Without the learned scale and shift. columns <= 16384, so that a row fits in the registers of one block.
void layernorm(float* out,       // (rows, columns)
               const float* in,  // (rows, columns)
               int rows, int columns, cudaStream_t stream);

/// out(r, c) = exp(in(r, c)) / (sum over the row of exp(in)), for any finite input. columns <= 16384.
void softmax(float* out,       // (rows, columns)
             const float* in,  // (rows, columns)
             int rows, int columns, cudaStream_t stream);

// ---- gelu.cpp: the same on the CPU --------------------------------------------------------------------------------

/// The tanh form of GELU on one thread; tanh_of (tanh.hpp) is good enough.
void gelu_host(float* out,       // (n), host
               const float* in,  // (n), host
               std::size_t n);

// ---- unfused.cu: given: one kernel per operation, as a framework without a compiler -------------------------------

void gelu_unfused(float* out, const float* in, int n, cudaStream_t stream);
void sin2_plus_cos2_unfused(float* out, float* scratch, const float* in, int n, cudaStream_t stream);
/// means and deviations: (rows) each, scratch.
void layernorm_unfused(float* out, float* means, float* deviations, const float* in, int rows, int columns,
                       cudaStream_t stream);
/// maxima and sums: (rows) each, scratch.
void softmax_unfused(float* out, float* maxima, float* sums, const float* in, int rows, int columns,
                     cudaStream_t stream);

}  // namespace lab04
