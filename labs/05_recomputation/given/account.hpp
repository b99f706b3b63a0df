// Given: an account of a training step, call by call, and of the memory and FLOPs that it needs. Your program and the
// grader each keep one: yours stops at the first invalid call; the grader's decides your grade. An account sees only
// which calls were made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lab05 {

/// One call to a function of `network`.
struct network_call {
  enum kind : std::int64_t { forward, drop, backward };
  std::int64_t what = forward, layer = 0;
};

class account {
 public:
  /// For each layer: the bytes of its activation, and the FLOPs that compute it.
  account(std::vector<std::int64_t> bytes, std::vector<std::int64_t> flops)
      : bytes_(std::move(bytes)), flops_(std::move(flops)), there_(bytes_.size()), left_(bytes_.size()) {}

  /// "", or the reason why this call is invalid now.
  std::string enter(network_call c) {
    const auto layers = static_cast<std::int64_t>(bytes_.size());
    if (c.layer < 0 || c.layer >= layers) return "no layer " + std::to_string(c.layer);
    const auto i = static_cast<std::size_t>(c.layer);
    const auto missing = [&](std::size_t k) { return "activation " + std::to_string(k) + " is not held"; };
    if (c.what == network_call::drop) {
      if (!there_[i]) return missing(i);
      there_[i] = false;
      live_ -= bytes_[i];
      return {};
    }
    if (i > 0 && !there_[i - 1]) return missing(i - 1);
    if (c.what == network_call::forward) {
      if (there_[i]) return "activation " + std::to_string(i) + " is already held";
      there_[i] = true;
      live_ += bytes_[i];
      peak_ = std::max(peak_, live_);
      forward_flops_ += flops_[i];
      return {};
    }
    if (c.what != network_call::backward) return "no such call";
    if (left_ == 0) return "all gradients are already computed";
    if (i + 1 != left_) return "the next gradients are those of layer " + std::to_string(left_ - 1);
    if (!there_[i]) return missing(i);
    --left_;
    return {};
  }

  std::int64_t peak_bytes() const { return peak_; }
  std::int64_t forward_flops() const { return forward_flops_; }
  std::size_t gradients_left() const { return left_; }

 private:
  std::vector<std::int64_t> bytes_, flops_;
  std::vector<bool> there_;
  std::size_t left_;
  std::int64_t live_ = 0, peak_ = 0, forward_flops_ = 0;
};

}  // namespace lab05
