// The kernels of a training step in bf16: all but its products. Pointers are device pointers, multiples of 16 bytes;
// matrices are row-major. Each function launches on `stream` and returns without waiting. No kernel adds atomically, so
// the same inputs give the same bits in every run.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>

#include "training.hpp"

namespace lab14::mixed {

using bf16 = __nv_bfloat16;

// ---- attention.cu: gradients of causal attention, heads of 64 columns -----------------------------------------------

constexpr int head_size = 64, tile = 64;
/// Floats that a head has in `lse` and `delta`: one for each query, padded to whole tiles.
inline int pitch_of(int length) { return (length + tile - 1) / tile * tile; }

/// d_qkv (batch, length, 3, heads, 64) from d_out (batch, length, heads, 64); out and lse (batch, heads, pitch) are
/// those of lab11::attention_of_gpt2; delta (batch, heads, pitch) is for the kernels. The padding of lse and delta must
/// be finite.
void attention_backward(bf16* d_qkv, float* delta, const bf16* qkv, const bf16* out, const float* lse,
                        const bf16* d_out, int batch, int length, int heads, cudaStream_t stream);

// ---- kernels.cu -----------------------------------------------------------------------------------------------------

/// What changes from step to step.
struct step_numbers {
  float scale;                     ///< 1 / number of targets that count
  float correction1, correction2;  ///< 1 / (1 - beta1^step), 1 / sqrt(1 - beta2^step)
  float unused;
};

/// Gradients of biases and norms are sums over rows: block i of `sharers` adds up its rows into row i of `partial`, and
/// sum_partial adds these up, for all layers at once.
constexpr int sharers = 132;
void sum_partial(bf16* gradient, const float* partial, int columns, cudaStream_t stream);

void embed(float* x, const float* token_weights, const float* position_weights, const int* tokens, int rows, int length,
           int channels, cudaStream_t stream);
/// Adds to d_tokens, and writes d_positions. A token's rows are added up in their order by the block of the first one.
void embed_backward(bf16* d_tokens, bf16* d_positions, const float* d, const int* tokens, int rows, int length,
                    int channels, cudaStream_t stream);

/// sum = x + addend (unless that is null), out = LayerNorm(sum); mean and rstd are kept. channels is a multiple of 64,
/// at most 1024.
void add_and_norm(float* sum, bf16* out, float* mean, float* rstd, const float* x, const bf16* addend,
                  const float* weight, const float* bias, int rows, int channels, cudaStream_t stream);
/// d (becomes 0 first if `fresh`) += the gradient of x, also rounded into d_rounded. The partial sums over rows of the
/// weight's gradient, the bias's gradient and d go to of_weight, of_bias and of_d, whose rows are `pitch` apart.
void norm_backward(float* d, bf16* d_rounded, float* of_weight, float* of_bias, float* of_d, int pitch, bool fresh,
                   const float* x, const float* mean, const float* rstd, const float* weight, const bf16* d_out,
                   int rows, int channels, cudaStream_t stream);

/// d_in = d_out gelu'(in), in place or not, and the sums of d_in's rows. Columns are a multiple of 8, at most 8192.
void gelu_backward(bf16* d_in, float* partial, int pitch, const bf16* in, const bf16* d_out, int rows, int columns,
                   cudaStream_t stream);
void column_sums(float* partial, int pitch, const bf16* in, int rows, int columns, cudaStream_t stream);

/// As lab14::cross_entropy, in bf16; at most 57,344 columns, a multiple of 8. A row is read once.
void cross_entropy(float* losses, bf16* logits, const int* targets, const step_numbers* numbers, int rows,
                   int vocabulary, int pitch, cudaStream_t stream);

/// AdamW on all parameters; the first `decayed` have weight decay. `rounded` gets the new weights in bf16. Both counts
/// are multiples of 8.
void adamw(float* w, float* m, float* v, bf16* rounded, const bf16* gradient, std::size_t count, std::size_t decayed,
           const adamw_settings& with, const step_numbers* numbers, cudaStream_t stream);

}  // namespace lab14::mixed
