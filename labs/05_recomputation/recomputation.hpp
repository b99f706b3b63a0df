// Lab 05, recomputation: what your files must define.
//
// The chain is out = sigmoid(sigmoid(sigmoid(in))), elementwise. Pointers of the device part are device pointers from
// cudaMalloc (256-byte aligned); inputs and outputs never overlap. Launch on `stream` and return without waiting. Sizes
// are at least 1; an element count fits in an int.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace lab05 {

// ---- stored.cu: given: a framework that keeps what the backward pass needs ----------------------------------------

/// first = sigmoid(in), second = sigmoid(first), out = sigmoid(second).
void forward_stored(float* out, float* first, float* second,  // (n) each
                    const float* in,                          // (n)
                    int n, cudaStream_t stream);

/// d_in = d_out times the derivative of the chain, from what was stored.
void backward_stored(float* d_in,                                                  // (n)
                     const float* first, const float* second, const float* d_out,  // (n) each
                     int n, cudaStream_t stream);

// ---- sigmoid_chain.cu ---------------------------------------------------------------------------------------------

/// The chain, with nothing stored but its result, in one launch that moves no byte twice.
void forward(float* out,       // (n)
             const float* in,  // (n)
             int n, cudaStream_t stream);

/// d_in = d_out times the derivative of the chain, from its input alone, in one launch that moves no byte twice. Small
/// gradients keep their digits: for inputs between -80 and 80 the relative error of each is at most 4e-5.
void backward(float* d_in,                          // (n)
              const float* in, const float* d_out,  // (n) each
              int n, cudaStream_t stream);

// ---- chain_host.cpp: the chain on one core ------------------------------------------------------------------------

/// out = the chain of in, on one thread. `kept` is memory for whatever your backward_host needs: two arrays, one, or
/// nothing.
void forward_host(float* out, float* kept,  // (n), (2, n), host
                  const float* in,          // (n)
                  std::size_t n);

/// d_in = d_out times the derivative of the chain at `in`, after a call to forward_host with the same `in` and `kept`,
/// and perhaps calls with others.
void backward_host(float* d_in,                         // (n), host
                   const float* in, const float* kept,  // (n), (2, n)
                   const float* d_out,                  // (n)
                   std::size_t n);

// ---- checkpointing.cpp: what to keep when not everything fits -----------------------------------------------------

/// Chooses which activations of a chain of layers to keep for the backward pass.
///
/// Layer i makes an activation of bytes[i] from that of layer i - 1 at a cost of flops[i]; the chain's input is always
/// available and costs nothing. keep[i] = 1 keeps it after the forward pass, keep[i] = 0 drops it. The backward pass
/// walks from the end; when it meets a run of dropped activations, it recomputes the whole run once, from the kept
/// activation before it, and drops the run afterwards. So a plan has
/// - peak bytes: the sum of bytes[i] over the kept layers plus the largest sum of bytes[i] over a run of dropped
/// neighbours;
/// - extra FLOPs: the sum of flops[i] over the dropped layers.
/// The peak must be at most `budget`, and no plan within it may have fewer extra flops. There is always such a plan.
void choose_checkpoints(std::uint8_t* keep,         // (layers)
                        const std::int64_t* bytes,  // (layers), each at least 1
                        const std::int64_t* flops,  // (layers), each at least 1
                        std::size_t layers, std::int64_t budget);

// ---- backpropagation.cpp: the plan at work ------------------------------------------------------------------------

/// A chain of layers in training, as in a framework. It holds the activations; you say when to compute and when to free
/// each one. mlp.hpp implements one; account.hpp counts every byte.
class network {
 public:
  virtual ~network() = default;
  /// Computes activation i from activation i - 1, which must be held; the chain's input is always held.
  virtual void forward(std::size_t i) = 0;
  /// Frees the memory of activation i.
  virtual void drop(std::size_t i) = 0;
  /// The gradients of layer i: once for each layer, the last one first. Activations i and i - 1 must be held.
  virtual void backward(std::size_t i) = 0;
};

/// One training step: all activations forward, then all gradients; in between only the activations that `keep` keeps
/// are held. It must never hold more bytes of activations than the plan's peak, nor recompute more FLOPs than the
/// plan's extra FLOPs.
void backpropagate(network& net, const std::uint8_t* keep,  // (layers)
                   std::size_t layers);

}  // namespace lab05
