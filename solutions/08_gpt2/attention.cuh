// Causal attention in one kernel: qkv (batch, tokens, 3, heads, 64) gives out (batch, tokens, heads, 64). Pointers are
// aligned to 16 bytes. Both launch on `stream` and return without waiting.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace lab08 {

void attention(float* out, const float* qkv, int batch, int tokens, int heads, cudaStream_t stream);
void attention(__nv_bfloat16* out, const __nv_bfloat16* qkv, int batch, int tokens, int heads, cudaStream_t stream);

}  // namespace lab08
