// Lab 11, an optional part without points: attention's backward pass, by recomputation.
//
// For one head, with S = q k^T / sqrt(size), P = softmax(S) row by row, out = P v, and d_x for the gradient of a loss
// with respect to x:
//
//   d_v = P^T d_out      d_P = d_out v^T      d_S = P * (d_P - delta), element by element; delta is one number per row
//   d_q = d_S k / sqrt(size)                  d_k = d_S^T q / sqrt(size)
//
// delta(i) is the sum of P(i, j) d_P(i, j) over j, which is also that of d_out(i, c) out(i, c) over c. P needs no
// second softmax: P(i, j) = e^(S(i, j) - lse(i)).
#pragma once

#include <cuda_runtime.h>

namespace lab11 {

/// Device pointers from cudaMalloc; inputs and outputs never overlap. size is 64 or 128, tokens at least 1, causal as
/// in attention.hpp. At most three launches on `stream`; nothing is allocated, and nothing of size tokens x tokens is
/// stored.
void attention_backward(float* d_q,          // (heads, tokens, size)
                        float* d_k,          // (heads, tokens, size)
                        float* d_v,          // (heads, tokens, size)
                        float* delta,        // (heads, tokens), for you
                        const float* q,      // (heads, tokens, size)
                        const float* k,      // (heads, tokens, size)
                        const float* v,      // (heads, tokens, size)
                        const float* out,    // (heads, tokens, size), of the forward pass
                        const float* lse,    // (heads, tokens), of the forward pass
                        const float* d_out,  // (heads, tokens, size)
                        int heads, int tokens, int size, bool causal, cudaStream_t stream);

}  // namespace lab11
