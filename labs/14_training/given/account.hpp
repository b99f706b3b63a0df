// Given: an account of a training step, call by call, and of the activations that it holds. Your program and the grader
// each keep one: yours stops at the first invalid call; the grader's decides your grade.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace lab14 {

/// One call of a function of `network`. `of` is its layer, residual or micro-batch; only `loss` has a scale.
struct network_call {
  enum kind : std::int64_t {
    zero_gradients,
    embed,
    forward,
    recompute,
    drop_inner,
    drop_residual,
    loss,
    backward,
    backward_embedding,
    update,
    kinds
  };
  std::int64_t what = kinds, of = 0;
  float scale = 0;

  /// For example, "forward(2)".
  std::string text() const {
    constexpr const char* names[] = {"zero_gradients", "embed", "forward",  "recompute",          "drop_inner",
                                     "drop_residual",  "loss",  "backward", "backward_embedding", "update"};
    if (what < 0 || what >= kinds) return "?";
    const std::string name = names[what];
    if (what == zero_gradients || what == update) return name + "()";
    return name + "(" + std::to_string(of) + (what == loss ? ", " + std::to_string(scale) + ")" : ")");
  }
};

class account {
 public:
  /// A layer holds `inner` bytes of inner activations and makes a residual of `residual` bytes.
  account(int layers, int micro_batches, std::int64_t inner, std::int64_t residual)
      : layers_(layers),
        inner_bytes_(inner),
        residual_bytes_(residual),
        inner_(index(layers)),
        residual_(index(layers) + 1),
        embedded_(index(micro_batches)) {}

  /// Returns "", or the reason why this call is invalid now.
  std::string enter(const network_call& c) {
    if (const std::string why = reason(c); !why.empty()) return why;
    switch (c.what) {
      case network_call::zero_gradients: zeroed_ = true; break;
      case network_call::embed:
        micro_batch_ = c.of;
        embedded_[index(c.of)] = true;
        forward_ = 0;
        hold(residual_, 0, residual_bytes_);
        break;
      case network_call::forward:
        hold(residual_, ++forward_, residual_bytes_);
        hold(inner_, c.of, inner_bytes_);
        break;
      case network_call::recompute:
        ++recomputed_;
        hold(inner_, c.of, inner_bytes_);
        break;
      case network_call::drop_inner: release(inner_, c.of, inner_bytes_); break;
      case network_call::drop_residual: release(residual_, c.of, residual_bytes_); break;
      case network_call::loss: backward_ = layers_; break;
      case network_call::backward: --backward_; break;
      case network_call::backward_embedding:
        micro_batch_ = none;
        forward_ = backward_ = none;
        break;
      default: updated_ = true;
    }
    return {};
  }

  /// Returns "", or what is missing at the end of a step.
  std::string missing() const {
    for (std::size_t m = 0; m < embedded_.size(); ++m)
      if (!embedded_[m]) return "micro-batch " + std::to_string(m) + " is left out";
    if (micro_batch_ != none)
      return "the backward pass of micro-batch " + std::to_string(micro_batch_) + " has not ended";
    if (!updated_) return "the update is missing";
    const std::string held = first_held(0, 0);
    return held.empty() ? held : held + " still held";
  }

  /// Returns "", or an activation that is held although nothing will need it. Inner activations that `keep` does not
  /// select must not be held after their forward pass.
  std::string needless(const std::uint8_t* keep) const {
    if (micro_batch_ == none) {
      const std::string held = first_held(0, 0);
      return held.empty() ? held : held + " held between micro-batches";
    }
    if (backward_ == none) {
      for (std::int64_t i = 0; i < forward_; ++i)
        if (inner_[index(i)] && !keep[i])
          return name(inner_, i) + " held after the forward pass of that layer, but not to be kept";
      return {};
    }
    const std::string held = first_held(backward_, backward_);
    return held.empty() ? held : held + " held, but not needed any more";
  }

  std::int64_t peak_bytes() const { return peak_; }
  std::int64_t recomputed_layers() const { return recomputed_; }

 private:
  static constexpr std::int64_t none = -1;
  using flags = std::vector<bool>;
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

  std::string name(const flags& which, std::int64_t i) const {
    return (&which == &inner_ ? "the inner activations " : "residual ") + std::to_string(i) +
           (&which == &inner_ ? " are" : " is");
  }
  std::string first_held(std::int64_t inner_from, std::int64_t residual_from) const {
    for (std::int64_t i = inner_from; i < layers_; ++i)
      if (inner_[index(i)]) return name(inner_, i);
    for (std::int64_t i = residual_from; i <= layers_; ++i)
      if (residual_[index(i)]) return name(residual_, i);
    return {};
  }
  void hold(flags& which, std::int64_t i, std::int64_t bytes) {
    which[index(i)] = true;
    peak_ = std::max(peak_, live_ += bytes);
  }
  void release(flags& which, std::int64_t i, std::int64_t bytes) {
    which[index(i)] = false;
    live_ -= bytes;
  }

  std::string reason(const network_call& c) const {
    using call = network_call;
    const auto held = [&](const flags& which, std::int64_t i) { return static_cast<bool>(which[index(i)]); };
    if (c.what < 0 || c.what >= call::kinds) return "no such call";
    const bool of_micro_batch = c.what == call::embed || c.what == call::loss || c.what == call::backward_embedding;
    const bool of_nothing = c.what == call::zero_gradients || c.what == call::update;
    const std::int64_t most = of_micro_batch                  ? static_cast<std::int64_t>(embedded_.size())
                              : c.what == call::drop_residual ? layers_ + 1
                                                              : layers_;
    if (!of_nothing && (c.of < 0 || c.of >= most))
      return std::string("there is no ") +
             (of_micro_batch                  ? "micro-batch "
              : c.what == call::drop_residual ? "residual "
                                              : "layer ") +
             std::to_string(c.of);
    // Frees are valid at any time.
    if (c.what == call::drop_inner) return held(inner_, c.of) ? "" : name(inner_, c.of) + " not held";
    if (c.what == call::drop_residual) return held(residual_, c.of) ? "" : name(residual_, c.of) + " not held";
    if (updated_) return "the step has ended with the update";
    if (c.what == call::zero_gradients)
      return zeroed_ ? "the gradients were set to 0 before, once a step is enough" : "";
    if (c.what == call::update) {
      for (std::size_t m = 0; m < embedded_.size(); ++m)
        if (!embedded_[m]) return "the gradients of micro-batch " + std::to_string(m) + " are missing";
      return micro_batch_ == none
                 ? ""
                 : "the backward pass of micro-batch " + std::to_string(micro_batch_) + " has not ended";
    }
    if (c.what == call::embed) {
      if (micro_batch_ != none) return "micro-batch " + std::to_string(micro_batch_) + " has not ended";
      if (embedded_[index(c.of)]) return "micro-batch " + std::to_string(c.of) + " has already been used in this step";
      return held(residual_, 0) ? name(residual_, 0) + " already held" : "";
    }
    if (of_micro_batch && c.of != micro_batch_) return "the micro-batch at work is not " + std::to_string(c.of);
    if (c.what == call::forward || c.what == call::recompute) {
      if (!held(residual_, c.of)) return name(residual_, c.of) + " not held";
      if (held(inner_, c.of)) return name(inner_, c.of) + " already held";
      if (c.what == call::recompute) return "";
      if (c.of != forward_ || backward_ != none)
        return "the forward pass of layer " + std::to_string(c.of) + " is not next";
      return held(residual_, c.of + 1) ? name(residual_, c.of + 1) + " already held" : "";
    }
    if (c.what == call::loss) {
      if (backward_ != none) return "this micro-batch has its loss";
      if (forward_ != layers_) return "the forward pass of layer " + std::to_string(forward_) + " is missing";
      if (!held(residual_, layers_)) return name(residual_, layers_) + " not held";
      return zeroed_ ? "" : "gradients are added to what was there: set them to 0 first";
    }
    if (backward_ == none) return "the backward pass begins with the loss";
    if (c.what == call::backward_embedding)
      return backward_ == 0 ? "" : "the backward pass of layer " + std::to_string(backward_ - 1) + " is next";
    if (c.of != backward_ - 1)
      return backward_ == 0 ? "all layers are done"
                            : "the backward pass of layer " + std::to_string(backward_ - 1) + " is next";
    if (!held(residual_, c.of)) return name(residual_, c.of) + " not held";
    return held(inner_, c.of) ? "" : name(inner_, c.of) + " not held";
  }

  std::int64_t layers_, inner_bytes_, residual_bytes_;
  flags inner_, residual_;  ///< which are held
  flags embedded_;          ///< micro-batches that were begun
  bool zeroed_ = false, updated_ = false;
  std::int64_t micro_batch_ = none, forward_ = none, backward_ = none;  ///< layers done forward; layers left backward
  std::int64_t live_ = 0, peak_ = 0, recomputed_ = 0;
};

/// An invalid call; it is the last one recorded.
struct misuse : std::logic_error {
  using std::logic_error::logic_error;
};

/// Records the calls of a network, and stops at the first invalid one.
class recorder {
 public:
  recorder(int layers, int micro_batches, std::int64_t inner, std::int64_t residual)
      : seen_(layers, micro_batches, inner, residual), most_(most_calls(layers, micro_batches)) {}

  void enter(network_call::kind what, std::int64_t of = 0, float scale = 0) {
    if (calls_.size() == most_) throw misuse("too many calls");
    calls_.push_back({what, of, scale});
    if (const std::string why = seen_.enter(calls_.back()); !why.empty())
      throw misuse(calls_.back().text() + ": " + why);
  }

  const std::vector<network_call>& calls() const { return calls_; }
  const account& seen() const { return seen_; }
  /// More calls than any sensible step makes.
  static std::size_t most_calls(int layers, int micro_batches) {
    return 4 + static_cast<std::size_t>(micro_batches) * (8 + 8 * static_cast<std::size_t>(layers));
  }

 private:
  account seen_;
  std::size_t most_;
  std::vector<network_call> calls_;
};

}  // namespace lab14
