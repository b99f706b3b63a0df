// Given: GPT-2 in training on a device, in FP32, with your kernels. Products are cuBLAS's; the other kernels, in
// network.cu, are plain. Each call is recorded, and an invalid one throws misuse.
#pragma once

#include <cublas_v2.h>

#include <cstddef>
#include <vector>

#include "account.hpp"
#include "gpt2/cuda.hpp"
#include "gpt2/model.hpp"
#include "lab/device.hpp"
#include "training.hpp"

namespace lab14 {

/// An activation of one layer: memory that is allocated and freed in stream order.
class activation {
 public:
  activation() = default;
  activation(const char* name, std::size_t floats, cudaStream_t stream);
  ~activation();
  activation(activation&& other) noexcept;
  activation& operator=(activation&& other) noexcept;
  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

class gpt2_network final : public network {
 public:
  struct part {                        ///< a micro-batch
    std::vector<int> tokens, targets;  ///< (batch, length) each; a target may be `ignored`
  };

  /// Weights are in the order of gpt2::tensor; so are gradients, m and v. Weight decay is for matrices only. Throws
  /// gpt2::model_error.
  gpt2_network(const gpt2::checkpoint& start, int batch, int length, const adamw_settings& with,
               gpt2::precision how = gpt2::precision::fp32);
  ~gpt2_network() override;
  gpt2_network(const gpt2_network&) = delete;  // owns a handle
  gpt2_network& operator=(const gpt2_network&) = delete;

  /// Loads a step's tokens; training_step comes next. Throws gpt2::model_error.
  void begin_step(const std::vector<part>& all);
  /// The next training_step takes the same tokens again.
  void repeat_step();
  /// The mean loss of the last step; waits for it.
  float mean_loss();
  std::vector<float> weights() { return read(weights_); }
  std::vector<float> gradients() { return read(gradients_); }
  const recorder& calls() const { return *calls_; }
  std::int64_t inner_bytes() const;
  std::int64_t residual_bytes() const;
  void synchronize() const { stream_.synchronize(); }
  const lab::stream& stream() const { return stream_; }

  int layers() const override { return config_.layers; }
  int micro_batches() const override { return static_cast<int>(targets_in_.size()); }
  int targets(int micro_batch) const override { return targets_in_.at(static_cast<std::size_t>(micro_batch)); }
  void zero_gradients() override;
  void embed(int micro_batch) override;
  void forward(int i) override;
  void recompute(int i) override;
  void drop_inner(int i) override;
  void drop_residual(int i) override;
  void loss(int micro_batch, float scale) override;
  void backward(int i) override;
  void backward_embedding(int micro_batch) override;
  void update() override;

 private:
  /// The inner activations of a layer. `middle` is the residual stream between attention and MLP.
  struct inner {
    activation normal1, mean1, rstd1, qkv, mixed, middle, normal2, mean2, rstd2, expanded, gelu;
  };
  enum class op { plain, transposed };
  struct matrix {
    const float* data;
    op how;
    int pitch;
  };

  const float* weight(gpt2::tensor which, int layer = 0) const;
  float* gradient(gpt2::tensor which, int layer = 0) const;
  std::vector<float> read(const lab::device_buffer<float>& from);
  void make_inner(int i, bool also_residual);
  void multiply(float* out, int pitch, const matrix& a, const matrix& b, int m, int n, int k, bool add,
                int matrices = 1, long long out_step = 0, long long a_step = 0, long long b_step = 0);
  void linear(float* out, const float* in, gpt2::tensor weight, gpt2::tensor bias, int layer, int outputs, int inputs,
              const float* addend);
  void linear_backward(float* d_in, const float* in, const float* d_out, gpt2::tensor weight, gpt2::tensor bias,
                       int layer, int outputs, int inputs);
  void normalize(float* out, float* mean, float* rstd, const float* x, gpt2::tensor weight, gpt2::tensor bias,
                 int layer);
  void normalize_backward(const float* x, const float* mean, const float* rstd, const float* d_out, gpt2::tensor weight,
                          gpt2::tensor bias, int layer);
  void attention_weights(const float* qkv);
  void attend(float* mixed, const float* qkv);
  void attend_backward(float* d_qkv, const float* qkv, const float* d_mixed);

  gpt2::config config_;
  int batch_, length_, rows_;
  adamw_settings with_;
  cublasComputeType_t compute_;
  int step_ = 0;
  lab::stream stream_;
  cublasHandle_t blas_ = nullptr;
  lab::device_buffer<float> weights_, gradients_, m_, v_;
  std::vector<inner> inner_;          ///< by layer
  std::vector<activation> residual_;  ///< by number
  // One of each for all layers: the gradients of activations, the weights of attention, and the logits.
  lab::device_buffer<float> d_residual_, d_normal_, d_wide_, d_gelu_, scores_, d_scores_;
  lab::device_buffer<float> normal_, mean_, rstd_, logits_, losses_, loss_, partial_;
  /// For each micro-batch: the tokens, the targets, and the rows in the order of their tokens.
  std::vector<lab::device_buffer<int>> tokens_, targets_, order_;
  std::vector<int> targets_in_, tokens_in_;  ///< numbers of valid targets and distinct tokens, by micro-batch
  std::unique_ptr<recorder> calls_;
};

}  // namespace lab14
