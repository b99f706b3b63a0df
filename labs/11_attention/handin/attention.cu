// Attention on a device. None of the three computes anything yet.
#include "attention.hpp"

namespace lab11 {
namespace {

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__global__ void fp32_kernel(float* out, float* lse, const float* q, const float* k, const float* v, int tokens,
                            int size, bool causal) {
  // TODO(lab11.fp32_correct): for each tile of K and V: scores, a new maximum, and the sums so far scaled to it.
  // TODO(lab11.fp32_traffic): what does a block keep of Q, and where?
  // TODO(lab11.causal_traffic): which is the last tile that a block needs?
  (void)out, (void)lse, (void)q, (void)k, (void)v, (void)tokens, (void)size, (void)causal;  // delete once used
}

}  // namespace

void attention_fp32(float* out, float* lse, const float* q, const float* k, const float* v, int heads, int tokens,
                    int size, bool causal, cudaStream_t stream) {
  fp32_kernel<<<dim3(ceil_div(tokens, 64), heads), 64, 0, stream>>>(out, lse, q, k, v, tokens, size, causal);
}

void attention_bf16(bf16* out, float* lse, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens, int size,
                    bool causal, cudaStream_t stream) {
  // TODO(lab11.bf16_correct): two products by mma. Which lane holds which score, and which must it hold as a factor?
  // TODO(lab11.causal_products): which tiles does no query of the block see?
  // TODO(lab11.bf16_traffic): ldmatrix from rows of 128 or 256 bytes, without bank conflicts.
  // TODO(lab11.bf16_throughput): copies while the tensor cores work; queries per warp; what must be scaled, and when?
  (void)out, (void)lse, (void)q, (void)k, (void)v, (void)heads, (void)tokens, (void)size, (void)causal, (void)stream;
}

void decode_bf16(bf16* out, float* workspace, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens,
                 int size, cudaStream_t stream) {
  // TODO(lab11.decode_correct): how many lanes read one key, and how do they add up their parts of a score?
  // TODO(lab11.decode_traffic): one block per head leaves most of the device idle. Who joins the parts?
  // TODO(lab11.decode_throughput): how many bytes are in flight while a score is computed?
  (void)out, (void)workspace, (void)q, (void)k, (void)v, (void)heads, (void)tokens, (void)size, (void)stream;
}

}  // namespace lab11
