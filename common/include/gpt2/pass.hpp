// Forward passes: one interface, several ways to compute the same logits.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpt2/model.hpp"
#include "lab/roofline.hpp"

namespace gpt2 {

/// The blocks of a forward pass; each pass puts a lab::range of this name around each block.
enum class block { embedding, norm1, attention, residual1, norm2, mlp, residual2, final_norm, logits };
inline constexpr block all_blocks[] = {block::embedding, block::norm1,      block::attention,
                                       block::residual1, block::norm2,      block::mlp,
                                       block::residual2, block::final_norm, block::logits};

/// "LayerNorm 1", "attention", ...
const char* name_of(block which);

/// The minimum work of a block, with no operations fused.
struct block_work {
  double flops = 0;
  double weight_bytes = 0;
  double activation_bytes = 0;  ///< bytes that its operations read and write, counted separately for each
  lab::work total() const { return {flops, weight_bytes + activation_bytes}; }
};
block_work work_of(block which, const config& of, int batch, int length, double bytes_each);

/// The blocks' operations in the order of a pass; each is one or more kernels. The first and the last two do not belong
/// to a layer.
enum class operation {
  embed,
  normalize_before_attention,
  project_to_qkv,
  multiply_queries_by_keys,
  softmax,
  weigh_values,
  project_attention,
  add_attention,
  normalize_before_mlp,
  expand,
  gelu,
  contract,
  add_mlp,
  normalize_last,
  multiply_by_embedding
};

class pass {
 public:
  virtual ~pass() = default;
  /// Loads the tokens; does not wait for the copy to a device. Throws model_error if they do not fit the model.
  virtual void load(std::span<const int> tokens, int batch, int length) = 0;
  /// Computes the logits of all positions of the last loaded tokens, with a range around each block. Does not wait for
  /// a device.
  void run();
  /// Runs one operation, without a range. If one kernel does several, the first operation runs it and the others do
  /// nothing; but a kernel that adds to the residual stream and normalizes it belongs to the norm.
  virtual void compute(operation which, int layer) = 0;
  /// The minimum work of a block in this pass; zero if another block includes it.
  virtual std::optional<lab::work> work(block which) const = 0;
  virtual int layers() const = 0;
  /// Like run(); if possible, the first call records the launches in a graph, which later calls launch.
  virtual void replay() = 0;
  void forward(std::span<const int> tokens, int batch, int length) {
    load(tokens, batch, length);
    run();
  }
  /// The logits of the last run: (batch, length, vocabulary). Waits for them.
  virtual std::vector<float> logits() = 0;
  /// The logits of one position: (vocabulary).
  virtual std::vector<float> logits_at(int sequence, int position) = 0;
  virtual void synchronize() {}
};

/// Logits (batch, length, vocabulary) in float64 by plain loops: the reference for the other passes. For small models.
std::vector<double> reference_logits(const checkpoint& model, std::span<const int> tokens, int batch, int length);

/// LLM-Eigen on one core of the CPU.
std::unique_ptr<pass> make_eigen_on_cpu(const checkpoint& model);

/// LLM-Eigen on the GPU: the same tensor expressions, each of which is one or more small kernels. Only in builds with
/// nvcc.
std::unique_ptr<pass> make_eigen_on_gpu(const checkpoint& model);

}  // namespace gpt2
