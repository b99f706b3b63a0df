// The kernel of hopper.cu on GPT-2's activations, for lab 14's step in bf16.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace lab11 {

/// Causal attention with heads of 64: qkv (batch, tokens, 3, heads, 64) gives out (batch, tokens, heads, 64). If lse
/// (batch, heads, pitch) is not null, it gets log2 of the sum of e^score of each query.
void attention_of_gpt2(__nv_bfloat16* out, float* lse, int pitch, const __nv_bfloat16* qkv, int batch, int tokens,
                       int heads, cudaStream_t stream);

}  // namespace lab11
