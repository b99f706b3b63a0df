// LLM-Eigen: GPT-2 as a list of tensor expressions. The device that evaluates them is one CPU core, or a GPU, where
// Eigen generates one or more kernels for each. Heads are computed one after the other, as in the published study's
// program.
#pragma once

#include <unsupported/Eigen/CXX11/Tensor>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gpt2/pass.hpp"

namespace gpt2 {

/// Adds the vectors of a token and of its position.
struct embedded {
  const float *tokens, *positions;
  const int* ids;
  int length, channels;
  EIGEN_DEVICE_FUNC float operator()(const Eigen::array<Eigen::Index, 2>& at) const {
    return tokens[static_cast<Eigen::Index>(ids[at[0]]) * channels + at[1]] +
           positions[at[0] % length * channels + at[1]];
  }
};

/// 0 where a token may look, minus infinity at later tokens.
struct causal_mask {
  EIGEN_DEVICE_FUNC float operator()(const Eigen::array<Eigen::Index, 2>& at) const {
    return at[1] <= at[0] ? 0.0f : -std::numeric_limits<float>::infinity();
  }
};

template <class Device>
class eigen_pass : public pass {
 public:
  eigen_pass(const checkpoint& model, Device& device)
      : device_(device), config_(model.config), weights_(device, model.weights.size()) {
    device_.memcpyHostToDevice(weights_.data(), model.weights.data(), model.weights.size() * sizeof(float));
    eigen_pass::synchronize();  // the constructor would not call an override
  }

  void load(std::span<const int> tokens, int batch, int length) override {
    expect_tokens(config_, tokens, batch, length);
    if (batch != batch_ || length != length_) make_room(batch, length);
    device_.memcpyHostToDevice(ids_.data(), tokens.data(), tokens.size_bytes());
  }
  void compute(operation which, int layer) override {
    const index c = config_.channels, v = config_.padded_vocabulary;
    auto x = rows(x_, c), out = rows(out_, c), hidden = rows(hidden_, 4 * c);
    const Eigen::array<Eigen::IndexPair<index>, 1> inner{Eigen::IndexPair<index>(1, 1)};
    switch (which) {
      case operation::embed:
        x.device(device_) = x.generate(embedded{weights_.data() + offset_of(config_, tensor::token_embedding),
                                                weights_.data() + offset_of(config_, tensor::position_embedding),
                                                ids_.data(), length_, config_.channels});
        break;
      case operation::normalize_before_attention: layer_norm(tensor::norm1_weight, tensor::norm1_bias, layer); break;
      case operation::project_to_qkv:
        linear(normed_, qkv_, tensor::qkv_weight, tensor::qkv_bias, layer, c, 3 * c);
        break;
      case operation::multiply_queries_by_keys:  // also softmax and values, per head
        for (int b = 0; b < batch_; ++b)
          for (int h = 0; h < config_.heads; ++h) attend(b, h);
        break;
      case operation::softmax:
      case operation::weigh_values: break;
      case operation::project_attention:
        linear(mixed_, out_, tensor::projection_weight, tensor::projection_bias, layer, c, c);
        break;
      case operation::normalize_before_mlp: layer_norm(tensor::norm2_weight, tensor::norm2_bias, layer); break;
      case operation::expand:
        linear(normed_, hidden_, tensor::expand_weight, tensor::expand_bias, layer, c, 4 * c);
        break;
      case operation::gelu:
        hidden.device(device_) = hidden * 0.5f * (1.0f + ((hidden + hidden.cube() * 0.044715f) * 0.79788456f).tanh());
        break;
      case operation::contract:
        linear(hidden_, out_, tensor::contract_weight, tensor::contract_bias, layer, 4 * c, c);
        break;
      case operation::add_attention:
      case operation::add_mlp: x.device(device_) = x + out; break;
      case operation::normalize_last: layer_norm(tensor::final_norm_weight, tensor::final_norm_bias, 0); break;
      case operation::multiply_by_embedding:
        rows(logits_, v).device(device_) =
            rows(normed_, c).contract(weight<2>(tensor::token_embedding, 0, sizes<2>{v, c}), inner);
        break;
    }
  }
  std::optional<lab::work> work(block which) const override {
    return work_of(which, config_, batch_, length_, sizeof(float)).total();
  }
  int layers() const override { return config_.layers; }

  void replay() override { run(); }
  void synchronize() override {
    if constexpr (requires { device_.synchronize(); }) device_.synchronize();
  }

  std::vector<float> logits_at(int sequence, int position) override {
    std::vector<float> out(static_cast<std::size_t>(config_.vocabulary));
    device_.memcpyDeviceToHost(
        out.data(),
        logits_.data() + static_cast<std::ptrdiff_t>(sequence * length_ + position) * config_.padded_vocabulary,
        out.size() * sizeof(float));
    synchronize();
    return out;
  }
  std::vector<float> logits() override {
    std::vector<float> out;
    for (int b = 0; b < batch_; ++b)
      for (int t = 0; t < length_; ++t) {
        const std::vector<float> row = logits_at(b, t);
        out.insert(out.end(), row.begin(), row.end());
      }
    return out;
  }

 private:
  using index = Eigen::Index;
  template <int rank>
  using map = Eigen::TensorMap<Eigen::Tensor<float, rank, Eigen::RowMajor>>;
  template <int rank>
  using sizes = Eigen::array<index, rank>;

  /// Device memory.
  template <class T>
  class array {
   public:
    array(Device& device, std::size_t size)
        : device_(&device), data_(static_cast<T*>(device.allocate(std::max<std::size_t>(size, 1) * sizeof(T)))) {}
    explicit array(Device& device) : device_(&device) {}
    ~array() {
      if (data_) device_->deallocate(data_);
    }
    array(array&& other) noexcept : device_(other.device_), data_(std::exchange(other.data_, nullptr)) {}
    array& operator=(array&& other) noexcept {
      std::swap(data_, other.data_);
      return *this;
    }
    T* data() const { return data_; }

   private:
    Device* device_;
    T* data_ = nullptr;
  };
  using floats = array<float>;

  void make_room(int batch, int length) {
    batch_ = batch;
    length_ = length;
    const auto n = static_cast<std::size_t>(batch) * static_cast<std::size_t>(length);
    const auto c = static_cast<std::size_t>(config_.channels), t = static_cast<std::size_t>(length);
    const auto size = static_cast<std::size_t>(config_.head_size());
    ids_ = array<int>(device_, n);
    for (floats* x : {&x_, &normed_, &mixed_, &out_}) *x = floats(device_, n * c);
    qkv_ = floats(device_, n * 3 * c);
    hidden_ = floats(device_, n * 4 * c);
    for (floats* x : {&mean_, &variance_}) *x = floats(device_, n);
    for (floats* x : {&query_, &key_, &value_, &head_}) *x = floats(device_, t * size);
    for (floats* x : {&scores_, &mask_}) *x = floats(device_, t * t);
    for (floats* x : {&largest_, &sums_}) *x = floats(device_, t);
    logits_ = floats(device_, n * static_cast<std::size_t>(config_.padded_vocabulary));
    auto mask = square(mask_);
    mask.device(device_) = mask.generate(causal_mask{});
  }

  template <int rank>
  map<rank> weight(tensor which, int layer, const sizes<rank>& shape) {
    return {weights_.data() + offset_of(config_, which, layer), shape};
  }
  map<2> rows(const floats& of, index columns) { return {of.data(), sizes<2>{index{batch_} * length_, columns}}; }
  map<2> square(const floats& of) { return {of.data(), sizes<2>{length_, length_}}; }

  void layer_norm(tensor weight_of, tensor bias_of, int layer) {
    const index n = index{batch_} * length_, c = config_.channels;
    auto x = rows(x_, c), out = rows(normed_, c);
    map<1> mean(mean_.data(), n), variance(variance_.data(), n);
    const sizes<1> along{1};
    const sizes<2> column{n, 1}, row{1, c}, each_row{n, 1}, each_column{1, c};
    mean.device(device_) = x.mean(along);
    out.device(device_) = x - mean.reshape(column).broadcast(each_column);
    variance.device(device_) = out.square().mean(along);
    out.device(device_) = out * (variance + 1e-5f).rsqrt().reshape(column).broadcast(each_column) *
                              weight<2>(weight_of, layer, row).broadcast(each_row) +
                          weight<2>(bias_of, layer, row).broadcast(each_row);
  }

  /// out = in W^T + b
  void linear(const floats& in, const floats& out, tensor weight_of, tensor bias_of, int layer, index from, index to) {
    const Eigen::array<Eigen::IndexPair<index>, 1> inner{Eigen::IndexPair<index>(1, 1)};
    auto result = rows(out, to);
    result.device(device_) = rows(in, from).contract(weight<2>(weight_of, layer, sizes<2>{to, from}), inner);
    result.device(device_) =
        result + weight<2>(bias_of, layer, sizes<2>{1, to}).broadcast(sizes<2>{result.dimension(0), 1});
  }

  void attend(int b, int h) {
    const index t = length_, size = config_.head_size();
    const sizes<2> head{t, size}, column{t, 1}, each_column{1, t};
    const sizes<1> along{1};
    const Eigen::array<Eigen::IndexPair<index>, 1> same{Eigen::IndexPair<index>(1, 1)},
        product{Eigen::IndexPair<index>(1, 0)};
    const map<5> qkv(qkv_.data(), sizes<5>{batch_, t, 3, config_.heads, size});
    const auto of_head = [&](index which) { return qkv.chip(b, 0).chip(which, 1).chip(h, 1); };
    map<2> q(query_.data(), head), k(key_.data(), head), v(value_.data(), head), out(head_.data(), head);
    q.device(device_) = of_head(0) * (1.0f / std::sqrt(static_cast<float>(size)));
    k.device(device_) = of_head(1);
    v.device(device_) = of_head(2);
    auto scores = square(scores_);
    map<1> largest(largest_.data(), t), sums(sums_.data(), t);
    scores.device(device_) = q.contract(k, same);
    scores.device(device_) = scores + square(mask_);
    largest.device(device_) = scores.maximum(along);
    scores.device(device_) = (scores - largest.reshape(column).broadcast(each_column)).exp();
    sums.device(device_) = scores.sum(along);
    scores.device(device_) = scores / sums.reshape(column).broadcast(each_column);
    out.device(device_) = scores.contract(v, product);
    map<4> mixed(mixed_.data(), sizes<4>{batch_, t, config_.heads, size});
    mixed.chip(b, 0).chip(h, 1).device(device_) = out;
  }

  Device& device_;
  config config_;
  int batch_ = 0, length_ = 0;
  floats weights_;
  array<int> ids_{device_};
  floats x_{device_}, normed_{device_}, mixed_{device_}, out_{device_}, qkv_{device_}, hidden_{device_}, mean_{device_},
      variance_{device_}, query_{device_}, key_{device_}, value_{device_}, head_{device_}, scores_{device_},
      mask_{device_}, largest_{device_}, sums_{device_}, logits_{device_};
};

}  // namespace gpt2
