// Lab 11, an optional part without points: attention with Hopper's own instructions. For GPUs of compute capability 9.0
// and the simulated device.
#pragma once

#include "../attention.hpp"

namespace lab11 {

/// As attention_bf16, with size 128. One launch on `stream`. Only TMA copies queries, keys and values to shared memory,
/// and only wgmma reads them there.
void attention_hopper(bf16* out,      // (heads, tokens, 128)
                      float* lse,     // (heads, tokens)
                      const bf16* q,  // (heads, tokens, 128)
                      const bf16* k,  // (heads, tokens, 128)
                      const bf16* v,  // (heads, tokens, 128)
                      int heads, int tokens, bool causal, cudaStream_t stream);

}  // namespace lab11
