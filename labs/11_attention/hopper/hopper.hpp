// Lab 11, an optional part without points: attention with Hopper's own instructions. For GPUs of compute capability 9.0
// and the simulated device.
#pragma once

#include "../attention.hpp"

namespace lab11 {

/// As attention_bf16, with size 64 or 128. One launch on `stream`. Only TMA copies queries, keys and values to shared
/// memory, and only wgmma reads them there.
void attention_hopper(bf16* out,      // (heads, tokens, size)
                      float* lse,     // (heads, tokens)
                      const bf16* q,  // (heads, tokens, size)
                      const bf16* k,  // (heads, tokens, size)
                      const bf16* v,  // (heads, tokens, size)
                      int heads, int tokens, int size, bool causal, cudaStream_t stream);

}  // namespace lab11
