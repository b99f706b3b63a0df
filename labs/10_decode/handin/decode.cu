// One token at a time, on a device. Nothing is computed yet.
#include "decode.hpp"

namespace lab10 {

void matvec(float* y, const bf16* w, const float* x, const float* residual, int rows, int columns,
            cudaStream_t stream) {
  // TODO(lab10.matvec_correct): begin with a warp per row. What do its lanes read, and how do they add up?
  // TODO(lab10.matvec_traffic): x is loaded for each row. What if several rows share it?
  // TODO(lab10.matvec_throughput): how many bytes are in flight on each multiprocessor?
  (void)y, (void)w, (void)x, (void)residual, (void)rows, (void)columns, (void)stream;  // delete once used
}

void norm_matvec(float* y, const bf16* w, const float* x, const bf16* norm, int rows, int columns,
                 cudaStream_t stream) {
  // TODO(lab10.norm_correct): the sum of squares is one number. When must it be known?
  // TODO(lab10.norm_traffic): no separate launch, no normalized x in memory.
  (void)y, (void)w, (void)x, (void)norm, (void)rows, (void)columns, (void)stream;  // delete once used
}

void norm_gate(float* y, const bf16* w, const float* x, const bf16* norm, int rows, int columns, cudaStream_t stream) {
  // TODO(lab10.norm_correct): who computes row r and row rows + r?
  (void)y, (void)w, (void)x, (void)norm, (void)rows, (void)columns, (void)stream;  // delete once used
}

void rotate_append(float* q, bf16* k_cache, bf16* v_cache, const float* qkv, const float* rotary, const int* position,
                   int heads, int kv_heads, int size, int capacity, cudaStream_t stream) {
  // TODO(lab10.append_correct): where does token *position of a head begin?
  // TODO(lab10.append_traffic): what does one token store?
  (void)q, (void)k_cache, (void)v_cache, (void)qkv, (void)rotary, (void)position;  // delete once used
  (void)heads, (void)kv_heads, (void)size, (void)capacity, (void)stream;
}

void attend(float* out, float* workspace, const float* q, const bf16* k_cache, const bf16* v_cache, const int* position,
            int heads, int kv_heads, int size, int capacity, cudaStream_t stream) {
  // TODO(lab10.attend_correct): which query heads use K/V head h? How do parts of the keys become one result?
  // TODO(lab10.attend_traffic): a key that is loaded serves all of them.
  (void)out, (void)workspace, (void)q, (void)k_cache, (void)v_cache, (void)position;  // delete once used
  (void)heads, (void)kv_heads, (void)size, (void)capacity, (void)stream;
}

void decode_token(float* logits, const model& m, const state& s, cudaStream_t stream) {
  // TODO(lab10.token_correct): the functions above, in the order of the contract, and one kernel for the embedding.
  // TODO(lab10.token_traffic): count your launches.
  // TODO(lab10.token_throughput): which of them moves the fewest bytes per microsecond?
  (void)logits, (void)m, (void)s, (void)stream;  // delete once used
}

void generate(int* chosen, float* logits, const model& m, const state& s, int count, cudaStream_t stream) {
  // TODO(lab10.generate_correct): which kernel finds the largest logit, and moves on?
  // TODO(lab10.generate_calls): capture a token once, and launch the graph for each.
  (void)chosen, (void)logits, (void)m, (void)s, (void)count, (void)stream;  // delete once used
}

}  // namespace lab10
