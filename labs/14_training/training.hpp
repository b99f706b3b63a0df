// Lab 14, a training step: what your files must define.
//
// Matrices are row-major. Pointers of the device parts are device pointers unless they are marked host; each is a
// multiple of 16 bytes, since it may lie within an array of all weights. Inputs and outputs never overlap unless one
// pointer is both. Launch on `stream` and return without waiting; allocate nothing. Sizes are at least 1, and an
// element count fits in an int. d_x is the gradient of the loss with respect to x. Equal inputs give the same bits in
// every run.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace lab14 {

// ---- backward.cu: the gradients of small operations ----------------------------------------------------------------

/// The backward pass of out = gelu(in) = in / 2 * (1 + tanh(sqrt(2 / pi) * (in + 0.044715 in^3))), element by element,
/// in one launch that moves no byte twice: d_in = d_out * gelu'(in).
void gelu_backward(float* d_in,                          // (n)
                   const float* in, const float* d_out,  // (n) each
                   int n, cudaStream_t stream);

/// Floats of `partial` that your layer_norm_backward needs for these sizes: at most 256 * channels.
std::size_t layer_norm_partial(int rows, int channels);

/// The backward pass of out = normal * weight + bias, where normal = (x - mean) * rstd row by row, and rstd is
/// 1 / sqrt(variance + 1e-5). The forward pass kept mean and rstd. x also feeds the residual stream, so d_x already
/// holds the gradient that arrives that way; this function adds its own. It adds to d_weight and d_bias, too: the
/// gradients of a step are sums over its micro-batches.
///
///   d_x      += rstd * (g - mean_c(g) - normal * mean_c(g * normal)), where g = d_out * weight
///   d_weight += the sum over rows of d_out * normal,   d_bias += the sum over rows of d_out
///
/// mean_c is the mean over a row's channels. At most two launches. x, d_out and d_x are each read once, and d_x is
/// written once. No atomics: their order would change the bits. channels is a multiple of 4 and at most 1024.
void layer_norm_backward(float* d_x,                            // (rows, channels), added to
                         float* d_weight, float* d_bias,        // (channels) each, added to
                         float* partial,                        // (layer_norm_partial(rows, channels)), for you
                         const float* x,                        // (rows, channels)
                         const float* weight,                   // (channels)
                         const float* mean, const float* rstd,  // (rows) each
                         const float* d_out,                    // (rows, channels)
                         int rows, int channels, cudaStream_t stream);

// ---- loss.cu: softmax and cross-entropy, forward and backward in one launch -----------------------------------------

/// A target that counts for nothing: its loss is 0, and so is its row of the gradient.
inline constexpr int ignored = -1;

/// For each row r: losses(r) = log(sum over v of e^logits(r, v)) - logits(r, targets(r)), where v < vocabulary, and
/// logits(r, v) becomes its own gradient, scale * (softmax(r, v) - (v == targets(r) ? 1 : 0)). The padding, columns
/// vocabulary ... pitch - 1, may hold anything, NaN included; it becomes 0. One launch; each logit is read at most
/// twice and written once. Logits lie between -1e4 and 1e4. There are at most 65,535 rows. pitch is a multiple of 4,
/// vocabulary at most pitch.
void cross_entropy(float* losses,       // (rows)
                   float* logits,       // (rows, pitch), becomes the gradient
                   const int* targets,  // (rows), each `ignored` or from 0 to vocabulary - 1
                   float scale, int rows, int vocabulary, int pitch, cudaStream_t stream);

// ---- optimizer.cpp and optimizer.cu: AdamW -------------------------------------------------------------------------

struct adamw_settings {
  float learning_rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, weight_decay = 0.0f;
};

/// One step of AdamW (Loshchilov and Hutter, 2019) on `n` parameters, as in torch.optim.AdamW; `step` counts from 1.
///
///   m = beta1 m + (1 - beta1) g                       v = beta2 v + (1 - beta2) g^2
///   w = w - learning_rate * weight_decay * w
///   w = w - learning_rate * (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + epsilon)
///
/// On one thread. Pointers are host pointers.
void adamw_host(float* w, float* m, float* v,  // (n) each
                const float* g,                // (n)
                std::size_t n, const adamw_settings& with, int step);

/// The same on the device, in one launch that moves no byte twice.
void adamw(float* w, float* m, float* v,  // (n) each
           const float* g,                // (n)
           int n, const adamw_settings& with, int step, cudaStream_t stream);

// ---- step.cpp: what to keep, and the order of a step ---------------------------------------------------------------

/// A transformer in training, as a framework sees it: you say what runs when, and what is freed. Layer i turns residual
/// i into residual i + 1, and makes `inner` activations on the way (norms, queries, ..., about 15 times the bytes of a
/// residual), which only its own backward pass needs. network.hpp has one; account.hpp counts the bytes of every call.
class network {
 public:
  virtual ~network() = default;
  virtual int layers() const = 0;
  virtual int micro_batches() const = 0;  ///< of this step
  /// Number of tokens of this micro-batch whose target is not `ignored`; maybe 0, but not for all micro-batches.
  virtual int targets(int micro_batch) const = 0;

  /// All gradients = 0. They are sums: each backward pass adds to them.
  virtual void zero_gradients() = 0;
  /// Makes residual 0 from a micro-batch's tokens.
  virtual void embed(int micro_batch) = 0;
  /// Needs residual i; makes the inner activations i and residual i + 1.
  virtual void forward(int i) = 0;
  /// Needs residual i; makes the inner activations i again, after they were dropped.
  virtual void recompute(int i) = 0;
  /// Frees the inner activations i.
  virtual void drop_inner(int i) = 0;
  /// Frees residual i.
  virtual void drop_residual(int i) = 0;
  /// Needs the last residual, which nothing needs after it. Sums the micro-batch's losses; the gradient of
  /// `scale` times that sum arrives at the last residual.
  virtual void loss(int micro_batch, float scale) = 0;
  /// Needs residual i, the inner activations i and the gradient of residual i + 1, which becomes that of residual i.
  /// The last layer comes first, each layer once per micro-batch.
  virtual void backward(int i) = 0;
  /// The gradient of residual 0 goes into the embeddings.
  virtual void backward_embedding(int micro_batch) = 0;
  /// One step of the optimizer on all parameters.
  virtual void update() = 0;
};

/// Chooses the layers whose inner activations are kept between forward and backward; the others' are dropped and
/// recomputed. All layers are equal: each holds `inner` bytes of inner activations and makes a residual of `residual`
/// bytes. All residuals are kept until the backward pass has used them, and the gradients of activations do not count.
/// A step with this plan, as training_step runs it, never holds more than `budget` bytes, and no plan that fits keeps
/// more layers. There is always one that fits.
void choose_layers(std::uint8_t* keep,  // (layers)
                   int layers, std::int64_t inner, std::int64_t residual, std::int64_t budget);

/// One training step: the mean loss over all targets of all micro-batches, its gradients, and one update. Every
/// micro-batch runs, even one without targets. After layer i's forward pass its inner activations are held if and only
/// if keep[i] is 1, and only those that were dropped are computed again. Each activation is freed as soon as nothing
/// needs it; when the step ends, none is held.
void training_step(network& net, const std::uint8_t* keep);  // (layers)

}  // namespace lab14
