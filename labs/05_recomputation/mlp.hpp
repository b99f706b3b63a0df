// Given: a multilayer perceptron whose activations are counted when they are allocated and freed. Layer i is
// a_i = tanh(a_(i-1) W_i); a_(-1) is the input. Matrices are row-major.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "recomputation.hpp"

namespace lab05 {

/// Bytes that are allocated now, and the most there ever were.
struct account {
  std::int64_t live = 0, peak = 0;
};

/// An allocator that keeps an account.
template <class T>
struct counting_allocator {
  using value_type = T;
  explicit counting_allocator(account& a) : kept(&a) {}
  template <class U>
  counting_allocator(const counting_allocator<U>& other) : kept(other.kept) {}

  T* allocate(std::size_t n) {
    kept->live += static_cast<std::int64_t>(n * sizeof(T));
    kept->peak = std::max(kept->peak, kept->live);
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) {
    kept->live -= static_cast<std::int64_t>(n * sizeof(T));
    std::allocator<T>().deallocate(p, n);
  }
  bool operator==(const counting_allocator& other) const { return kept == other.kept; }

  account* kept;
};

class mlp : public network {
 public:
  using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using view = Eigen::Map<const matrix>;

  /// `widths` are those of the input and of each layer; `weights` and `gradients` hold the layers one after the other.
  mlp(std::vector<std::int64_t> widths, std::int64_t batch, const float* weights, const float* in, const float* d_out,
      float* gradients)
      : widths_(std::move(widths)), batch_(batch), in_(in), activations_(layers(), buffer(count(used_))) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < layers(); ++i) {
      weights_.push_back(weights + at);
      gradients_.push_back(gradients + at);
      at += static_cast<std::size_t>(widths_[i] * widths_[i + 1]);
    }
    delta_ = view(d_out, batch_, widths_.back());
  }

  std::size_t layers() const { return widths_.size() - 1; }
  std::int64_t bytes(std::size_t i) const { return static_cast<std::int64_t>(sizeof(float)) * batch_ * widths_[i + 1]; }
  std::int64_t flops(std::size_t i) const { return 2 * batch_ * widths_[i] * widths_[i + 1]; }

  void forward(std::size_t i) override {
    expect(i < layers(), i, "is asked for, and there is no such layer");
    expect(there(i, 1), i, "is asked for, but the one before it is not there");
    expect(activations_[i].empty(), i, "is asked for, and is there already");
    activations_[i].resize(static_cast<std::size_t>(batch_ * widths_[i + 1]));
    Eigen::Map<matrix> out(activations_[i].data(), batch_, widths_[i + 1]);
    out.noalias() = before(i) * view(weights_[i], widths_[i], widths_[i + 1]);
    out = out.array().tanh();
    forward_flops_ += flops(i);
  }

  void drop(std::size_t i) override {
    expect(i < layers() && !activations_[i].empty(), i, "is dropped, and is not there");
    activations_[i] = buffer(count(used_));
  }

  void backward(std::size_t i) override {
    expect(i < layers() && i + done_ + 1 == layers(), i,
           "is not the one whose turn it is: backward goes from the last");
    expect(there(i, 0) && there(i, 1), i, "or the one before it is not there, which its gradient needs");
    const view out(activations_[i].data(), batch_, widths_[i + 1]);
    const matrix d_sum = delta_.array() * (1.0f - out.array().square());
    Eigen::Map<matrix>(gradients_[i], widths_[i], widths_[i + 1]).noalias() = before(i).transpose() * d_sum;
    delta_ = d_sum * view(weights_[i], widths_[i], widths_[i + 1]).transpose();
    ++done_;
  }

  std::int64_t peak_bytes() const { return used_.peak; }
  std::int64_t forward_flops() const { return forward_flops_; }
  std::size_t layers_done() const { return done_; }

 private:
  using count = counting_allocator<float>;
  using buffer = std::vector<float, count>;

  bool there(std::size_t i, std::size_t back) const { return i < back || !activations_[i - back].empty(); }
  view before(std::size_t i) const { return {i == 0 ? in_ : activations_[i - 1].data(), batch_, widths_[i]}; }
  static void expect(bool fine, std::size_t i, const char* otherwise) {
    if (!fine) throw std::logic_error("activation " + std::to_string(i) + " " + otherwise);
  }

  std::vector<std::int64_t> widths_;
  std::int64_t batch_;
  const float* in_;
  account used_;
  std::vector<buffer> activations_;
  std::vector<const float*> weights_;
  std::vector<float*> gradients_;
  matrix delta_;  ///< gradient of the activation whose turn it is
  std::int64_t forward_flops_ = 0;
  std::size_t done_ = 0;
};

}  // namespace lab05
