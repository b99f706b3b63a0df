// Causal attention in one kernel: qkv (batch, tokens, 3, heads, 64) gives out (batch, tokens, heads, 64). Pointers are
// aligned to 16 bytes. Both launch on `stream` and return without waiting. This header also has the rounding, which
// other kernels need.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace lab08 {

void attention(float* out, const float* qkv, int batch, int tokens, int heads, cudaStream_t stream);
void attention(__nv_bfloat16* out, const __nv_bfloat16* qkv, int batch, int tokens, int heads, cudaStream_t stream);

/// The bits of two numbers, rounded; the first is in the lower half.
__device__ inline std::uint32_t rounded(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return static_cast<std::uint32_t>(__bfloat16_as_ushort(both.y)) << 16 | __bfloat16_as_ushort(both.x);
}

}  // namespace lab08
