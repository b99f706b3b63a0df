// Given: a multilayer perceptron that records each call. Layer i is a_i = tanh(a_(i-1) W_i); a_(-1) is the input.
// Matrices are row-major.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "account.hpp"
#include "recomputation.hpp"

namespace lab05 {

/// An invalid call; it is the last one recorded.
struct misuse : std::logic_error {
  using std::logic_error::logic_error;
};

class mlp : public network {
 public:
  using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using view = Eigen::Map<const matrix>;

  /// `widths` are those of the input and of each layer; `weights` and `gradients` hold the layers in order.
  mlp(std::vector<std::int64_t> widths, std::int64_t batch, const float* weights, const float* in, const float* d_out,
      float* gradients)
      : widths_(std::move(widths)), batch_(batch), in_(in), activations_(layers()), seen_(bytes(), flops()) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < layers(); ++i) {
      weights_.push_back(weights + at);
      gradients_.push_back(gradients + at);
      at += static_cast<std::size_t>(widths_[i] * widths_[i + 1]);
    }
    delta_ = view(d_out, batch_, widths_.back());
  }

  std::size_t layers() const { return widths_.size() - 1; }
  std::vector<std::int64_t> bytes() const {
    std::vector<std::int64_t> all;
    for (std::size_t i = 0; i < layers(); ++i) all.push_back(std::int64_t{sizeof(float)} * batch_ * widths_[i + 1]);
    return all;
  }
  std::vector<std::int64_t> flops() const {
    std::vector<std::int64_t> all;
    for (std::size_t i = 0; i < layers(); ++i) all.push_back(2 * batch_ * widths_[i] * widths_[i + 1]);
    return all;
  }

  void forward(std::size_t i) override {
    note(network_call::forward, i);
    activations_[i].resize(static_cast<std::size_t>(batch_ * widths_[i + 1]));
    Eigen::Map<matrix> out(activations_[i].data(), batch_, widths_[i + 1]);
    out.noalias() = before(i) * view(weights_[i], widths_[i], widths_[i + 1]);
    out = out.array().tanh();
  }

  void drop(std::size_t i) override {
    note(network_call::drop, i);
    activations_[i] = {};
  }

  void backward(std::size_t i) override {
    note(network_call::backward, i);
    const view out(activations_[i].data(), batch_, widths_[i + 1]);
    const matrix d_sum = delta_.array() * (1.0f - out.array().square());
    Eigen::Map<matrix>(gradients_[i], widths_[i], widths_[i + 1]).noalias() = before(i).transpose() * d_sum;
    delta_ = d_sum * view(weights_[i], widths_[i], widths_[i + 1]).transpose();
  }

  const std::vector<network_call>& calls() const { return calls_; }
  std::size_t most_calls() const { return 4 * layers() * (layers() + 2); }  ///< enough for any sensible step

 private:
  view before(std::size_t i) const { return {i == 0 ? in_ : activations_[i - 1].data(), batch_, widths_[i]}; }
  void note(network_call::kind what, std::size_t i) {
    if (calls_.size() == most_calls()) throw misuse("too many calls");
    calls_.push_back({what, static_cast<std::int64_t>(i)});
    if (const std::string why = seen_.enter(calls_.back()); !why.empty()) throw misuse(why);
  }

  std::vector<std::int64_t> widths_;
  std::int64_t batch_;
  const float* in_;
  std::vector<std::vector<float>> activations_;
  std::vector<const float*> weights_;
  std::vector<float*> gradients_;
  matrix delta_;  ///< gradient of the current activation
  account seen_;
  std::vector<network_call> calls_;
};

}  // namespace lab05
