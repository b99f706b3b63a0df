// LLM-CUDA: matrix products by cuBLAS and cublasLt, everything else by kernels. The same source runs on a GPU and on
// the simulated device.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <functional>
#include <memory>

#include "gpt2/pass.hpp"

namespace gpt2 {

/// The type of the factors in matrix products. Sums and the residual stream are FP32 for all three.
enum class precision { fp32, tf32, bf16 };

/// Launches a pass up to the logits: out (rows, channels) are the last LayerNorm's results for these tokens.
using all_layers = std::function<void(const int* ids, __nv_bfloat16* out, cudaStream_t stream)>;

/// Kernels that the caller supplies to a pass; every pass needs the first two. Each launches on `stream` and returns
/// without waiting. All matrices are row-major.
struct kernels {
  /// out(r, c) = (in(r, c) - mean(r)) / sqrt(variance(r) + 1e-5) * weight(c) + bias(c)
  void (*layer_norm)(float* out, const float* in, const float* weight, const float* bias, int rows, int channels,
                     cudaStream_t stream) = nullptr;
  /// For each of the `matrices`, each (tokens, tokens): row t is the softmax of scale * scores(t, 0 ... t), followed by
  /// zeros. The scores to the right of the diagonal may have any value.
  void (*causal_softmax)(float* out, const float* scores, int matrices, int tokens, float scale,
                         cudaStream_t stream) = nullptr;

  // Optional kernels; each replaces several steps.

  /// x += addend, unless that is null; out = layer_norm(x)
  void (*add_and_norm)(float* x, float* out, const float* addend, const float* weight, const float* bias, int rows,
                       int channels, cudaStream_t stream) = nullptr;
  void (*add_and_norm_bf16)(float* x, __nv_bfloat16* out, const __nv_bfloat16* addend, const float* weight,
                            const float* bias, int rows, int channels, cudaStream_t stream) = nullptr;
  /// Causal attention: qkv (batch, tokens, 3, heads, 64) gives out (batch, tokens, heads, 64).
  void (*attention)(float* out, const float* qkv, int batch, int tokens, int heads, cudaStream_t stream) = nullptr;
  void (*attention_bf16)(__nv_bfloat16* out, const __nv_bfloat16* qkv, int batch, int tokens, int heads,
                         cudaStream_t stream) = nullptr;
  /// c (m, n) = a (m, k) b (k, n), where n and k are multiples of 8: all bf16 products except attention's.
  void (*gemm_bf16)(__nv_bfloat16* c, const __nv_bfloat16* a, const __nv_bfloat16* b, int m, int n, int k,
                    cudaStream_t stream) = nullptr;
  /// For replay(): all layers at once; empty if there is no kernel for this model and size. `weights` are those of a
  /// checkpoint, on the device; `norms` its LayerNorms' weights and biases, in the same order.
  all_layers (*all_layers_bf16)(const config& of, const __nv_bfloat16* weights, const float* norms, int batch,
                                int length) = nullptr;
};

std::unique_ptr<pass> make_cuda(const checkpoint& model, precision how, const kernels& with);

}  // namespace gpt2
