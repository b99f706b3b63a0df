// Lab 11's attention for measure.py, by names that Python finds.
#include "attention.hpp"
#include "hopper/hopper.hpp"

extern "C" void attention_mma(lab11::bf16* out, float* lse, const lab11::bf16* q, const lab11::bf16* k,
                              const lab11::bf16* v, int heads, int tokens, int causal, cudaStream_t stream) {
  lab11::attention_bf16(out, lse, q, k, v, heads, tokens, 128, causal != 0, stream);
}
extern "C" void attention_wgmma(lab11::bf16* out, float* lse, const lab11::bf16* q, const lab11::bf16* k,
                                const lab11::bf16* v, int heads, int tokens, int causal, cudaStream_t stream) {
  lab11::attention_hopper(out, lse, q, k, v, heads, tokens, causal != 0, stream);
}
