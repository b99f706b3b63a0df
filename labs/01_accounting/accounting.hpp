// Lab 01, accounting: what your files must define.
//
// All numbers are doubles: training runs have more FLOPs than 64 bits can count. One multiplication or one addition is
// one FLOP. `data` is the number of vectors that go through a layer: batch x tokens for a transformer. Sizes are at
// least 1.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace lab01 {

// ---- accounting.cpp: FLOPs -----------------------------------------------------------------------------------------

/// (m, k) times (k, n).
double matmul_flops(double m, double n, double k);

/// y = x W, with x (data, in) and W (in, out); no bias.
double linear_forward_flops(double data, double in, double out);

/// The gradient of W, and also that of x if the layer before this one needs it.
double linear_backward_flops(double data, double in, double out, bool input_gradient);

/// Forward and backward of a model with this many parameters, each in a linear layer, all gradients needed.
double training_flops(double parameters, double data);

/// GPT-2, as in transformer.hpp: learned positions, biases everywhere, an MLP four times as wide as `channels`, and
/// token embeddings that are the logits' weights too.
struct transformer {
  double layers = 0, heads = 0, channels = 0, vocabulary = 0, context = 0;
};

double parameters(const transformer& model);

/// Scores (queries times keys) and their product with the values, in one layer; no linear layers, no softmax.
/// `causal`: a token attends only to itself and its predecessors, and no other pair is computed.
double attention_flops(double batch, double heads, double tokens, double head_size, bool causal);

/// All matrix products of one forward pass, logits of each token included: linear layers without their biases, and
/// attention. The rest (norms, GELU, softmax, biases) is small; transformer.hpp counts it.
double forward_flops(const transformer& model, double batch, double tokens, bool causal);

// ---- accounting.cpp: bytes -----------------------------------------------------------------------------------------

struct training_bytes {
  double weights = 0, gradients = 0;
  double optimizer = 0;    ///< AdamW keeps two numbers per parameter
  double activations = 0;  ///< what transformer.hpp keeps for the backward pass
  double batch = 0;        ///< tokens and targets, 8 bytes each (int64)
};

/// Weights, gradients and optimizer state take `state` bytes per number, activations take `activation`.
training_bytes training_memory(const transformer& model, double batch, double tokens, double state, double activation);

/// Keys and values of all layers for this many tokens.
double kv_cache_bytes(const transformer& model, double batch, double tokens, double bytes_each);

// ---- accounting.cpp: number formats --------------------------------------------------------------------------------

/// A sign, and this many bits of exponent and mantissa, by the rules of IEEE 754: the largest exponent is for infinity
/// and NaN, the smallest for zero and subnormal numbers. fp32 is {8, 23}, fp16 {5, 10}, bf16 {8, 7}.
struct format {
  int exponent_bits = 0, mantissa_bits = 0;
};

struct range {
  double bytes = 0;                                       ///< not rounded: 18 bits are 2.25
  double largest = 0, smallest_normal = 0, smallest = 0;  ///< finite and positive
  double epsilon = 0;                                     ///< from 1 to the next larger number
};
range range_of(format f);

/// The value read back after storing `value`: rounded to nearest, ties to even; infinite if too large.
double stored(double value, format f);

// ---- accounting.cpp: the roofline, and planning with it -----------------------------------------------------------

/// FLOP per byte of an elementwise function whose accesses move `bytes_each` bytes each.
double elementwise_intensity(double flops, double reads, double writes, double bytes_each);

/// FLOP per byte of a matrix product whose three matrices cross the bus once each.
double matmul_intensity(double m, double n, double k, double bytes_each);

/// The minimum time of this work in seconds, given a machine's two peaks (per second).
double roofline_seconds(double flops, double bytes, double peak_flops, double peak_bytes);

/// Model FLOPs utilization: the FLOPs that the model needs for its tokens, over those that the machine could do in that
/// time.
double mfu(double parameters, double tokens_per_second, double peak_flops);

/// Hardware FLOPs utilization: the same, counting what was executed. A share `recomputed` (0 to 1) of the forward pass
/// runs again in the backward pass.
double hfu(double parameters, double tokens_per_second, double peak_flops, double recomputed);

/// Days to train. `peak_flops` is that of one device.
double training_days(double parameters, double tokens, double devices, double peak_flops, double mfu);

/// Parameters that fit, not rounded; ignores activations and batch.
double largest_model(double devices, double bytes_of_each, double bytes_per_parameter);

// ---- peaks.cpp: the two peaks of one core --------------------------------------------------------------------------

/// a = b + scale * c: reads two arrays and writes a third. They do not overlap, and each may begin at any float.
void triad(float* a,        // (n)
           const float* b,  // (n)
           const float* c,  // (n)
           float scale, std::size_t n);

/// out[i] is in[i] after `rounds` steps x <- x * x + c[i] in float: one multiply-add per step, and each needs the
/// previous one. All in[i] are in [-1, 1), all c[i] in [-1.99, -1.9): there a difference grows about twofold with each
/// step, so results are compared bit for bit. Each step may be fused or not.
void fma_chains(float* out,       // (n)
                const float* in,  // (n)
                const float* c,   // (n)
                std::size_t n, std::int64_t rounds);

// ---- peaks.cu: the two peaks of the device -------------------------------------------------------------------------
// Device pointers, 256-byte aligned; launch on `stream` and return without waiting.

/// out = in, with a kernel of your own: the counters do not see cudaMemcpyAsync.
void copy(float* out,       // (n)
          const float* in,  // (n)
          int n, cudaStream_t stream);

/// As fma_chains above.
void device_fma_chains(float* out,       // (n)
                       const float* in,  // (n)
                       const float* c,   // (n)
                       int n, int rounds, cudaStream_t stream);

// ---- operations.cu: given, for your predictions --------------------------------------------------------------------

void relu(float* out, const float* in, int n, cudaStream_t stream);
void residual_add(float* out, const float* a, const float* b, int n, cudaStream_t stream);
void gelu(float* out, const float* in, int n, cudaStream_t stream);
void layer_norm(float* out, const float* in, int rows, int columns, cudaStream_t stream);
void softmax(float* out, const float* in, int rows, int columns, cudaStream_t stream);
/// One step of AdamW, not in place: weights, first and second moment, from the old ones and the gradient.
void adamw(float* w_out, float* m_out, float* v_out, const float* w, const float* m, const float* v, const float* g,
           int n, cudaStream_t stream);
/// y = W x, one warp per row.
void decode_linear(float* y, const float* w, const float* x, int rows, int columns, cudaStream_t stream);

}  // namespace lab01
