// A GPT-2 forward pass over any number type, and a number type that counts what is done to it. Together they count a
// model by running it: cases.cpp compares your formulas with these counts, so this file is the fine print of the
// contract. Naive on purpose; nothing here is fast.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lab01 {

/// Operations so far: additions and multiplications inside matrix products, and everything else.
struct operation_counts {
  std::int64_t in_products = 0, elsewhere = 0;
  bool inside_product = false;
  void one() { ++(inside_product ? in_products : elsewhere); }
};
inline thread_local operation_counts counts;

/// A number that counts its own operations.
struct counted {
  double value = 0;
  counted(double v = 0) : value(v) {}
  friend counted operator+(counted a, counted b) { return counts.one(), counted(a.value + b.value); }
  friend counted operator-(counted a, counted b) { return counts.one(), counted(a.value - b.value); }
  friend counted operator*(counted a, counted b) { return counts.one(), counted(a.value * b.value); }
  friend counted operator/(counted a, counted b) { return counts.one(), counted(a.value / b.value); }
  friend counted exp(counted a) { return counts.one(), counted(std::exp(a.value)); }
  friend counted tanh(counted a) { return counts.one(), counted(std::tanh(a.value)); }
  friend counted sqrt(counted a) { return counts.one(), counted(std::sqrt(a.value)); }
};

struct model_size {
  std::size_t layers, heads, channels, vocabulary, context;
};

/// The model with its weights, and what a forward pass keeps.
template <class number>
class gpt2 {
  using numbers = std::vector<number>;

 public:
  explicit gpt2(const model_size& size) : size_(size) {
    const std::size_t c = size.channels;
    tokens_ = weights(size.vocabulary * c);
    positions_ = weights(size.context * c);
    for (std::size_t l = 0; l < size.layers; ++l)
      layers_.push_back({weights(c), weights(c), weights(c * 3 * c), weights(3 * c), weights(c * c), weights(c),
                         weights(c), weights(c), weights(c * 4 * c), weights(4 * c), weights(4 * c * c), weights(c)});
    final_scale_ = weights(c);
    final_shift_ = weights(c);
  }

  std::size_t parameters = 0;  ///< numbers in all weights
  std::size_t kept = 0;        ///< numbers that the last pass kept for a backward pass
  std::size_t cached = 0;      ///< of these, keys and values

  /// Logits (tokens, vocabulary) of one sequence.
  numbers forward(const std::vector<int>& sequence, bool causal) {
    kept = cached = 0;
    const std::size_t c = size_.channels, t = sequence.size();
    numbers x(t * c);
    for (std::size_t i = 0; i < t; ++i)
      for (std::size_t j = 0; j < c; ++j)
        x[i * c + j] = tokens_[static_cast<std::size_t>(sequence[i]) * c + j] + positions_[i * c + j];
    for (const layer& l : layers_) {
      const numbers normed = keep(norm(keep(x), l.scale1, l.shift1));
      const numbers qkv = keep(linear(normed, l.qkv, l.qkv_bias, t, c, 3 * c));
      cached += 2 * t * c;
      const numbers mixed = keep(attention(qkv, t, causal));
      add(x, linear(mixed, l.projection, l.projection_bias, t, c, c));
      const numbers normed2 = keep(norm(keep(x), l.scale2, l.shift2));
      const numbers wide = keep(linear(normed2, l.up, l.up_bias, t, c, 4 * c));
      const numbers active = keep(gelu(wide));
      add(x, linear(active, l.down, l.down_bias, t, 4 * c, c));
    }
    const numbers last = keep(norm(keep(x), final_scale_, final_shift_));
    numbers logits(t * size_.vocabulary);
    for (std::size_t i = 0; i < t; ++i)
      for (std::size_t v = 0; v < size_.vocabulary; ++v)
        logits[i * size_.vocabulary + v] = product(&last[i * c], 1, &tokens_[v * c], 1, c);
    return keep(logits);
  }

 private:
  struct layer {
    numbers scale1, shift1, qkv, qkv_bias, projection, projection_bias, scale2, shift2, up, up_bias, down, down_bias;
  };

  numbers weights(std::size_t count) {
    numbers result(count);
    for (number& w : result) w = number(0.1 * std::sin(static_cast<double>(++parameters)));
    return result;
  }

  const numbers& keep(const numbers& values) { return kept += values.size(), values; }

  /// n multiplications and n additions: the sum starts at zero.
  static number product(const number* a, std::size_t a_step, const number* b, std::size_t b_step, std::size_t n) {
    counts.inside_product = true;
    number sum(0);
    for (std::size_t i = 0; i < n; ++i) sum = sum + a[i * a_step] * b[i * b_step];
    counts.inside_product = false;
    return sum;
  }

  static numbers linear(const numbers& x, const numbers& w, const numbers& bias, std::size_t t, std::size_t in,
                        std::size_t out) {
    numbers y(t * out);
    for (std::size_t i = 0; i < t; ++i)
      for (std::size_t o = 0; o < out; ++o) y[i * out + o] = product(&x[i * in], 1, &w[o], out, in) + bias[o];
    return y;
  }

  static void add(numbers& x, const numbers& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i] + y[i];
  }

  numbers norm(const numbers& x, const numbers& scale, const numbers& shift) const {
    const std::size_t c = size_.channels;
    numbers y(x.size());
    for (std::size_t start = 0; start < x.size(); start += c) {
      number mean(0), variance(0);
      for (std::size_t j = 0; j < c; ++j) mean = mean + x[start + j];
      mean = mean / number(static_cast<double>(c));
      for (std::size_t j = 0; j < c; ++j) {
        const number d = x[start + j] - mean;
        variance = variance + d * d;
      }
      const number scaled = number(1) / sqrt(variance / number(static_cast<double>(c)) + number(1e-5));
      for (std::size_t j = 0; j < c; ++j) y[start + j] = (x[start + j] - mean) * scaled * scale[j] + shift[j];
    }
    return y;
  }

  static numbers gelu(const numbers& x) {
    numbers y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const number inner = number(0.79788456) * (x[i] + number(0.044715) * x[i] * x[i] * x[i]);
      y[i] = number(0.5) * x[i] * (number(1) + tanh(inner));
    }
    return y;
  }

  /// Without a mask every token attends to every token. The probabilities are kept as a full array (heads, tokens,
  /// tokens).
  numbers attention(const numbers& qkv, std::size_t t, bool causal) {
    const std::size_t c = size_.channels, h = c / size_.heads;
    numbers mixed(t * c);
    numbers all(size_.heads * t * t);
    for (std::size_t head = 0; head < size_.heads; ++head)
      for (std::size_t i = 0; i < t; ++i) {
        const std::size_t seen = causal ? i + 1 : t;
        number* p = &all[(head * t + i) * t];
        number sum(0);
        for (std::size_t j = 0; j < seen; ++j) {
          const number score = product(&qkv[i * 3 * c + head * h], 1, &qkv[j * 3 * c + c + head * h], 1, h);
          p[j] = exp(score / number(std::sqrt(static_cast<double>(h))));
          sum = sum + p[j];
        }
        for (std::size_t j = 0; j < seen; ++j) p[j] = p[j] / sum;
        for (std::size_t d = 0; d < h; ++d)
          mixed[i * c + head * h + d] = product(p, 1, &qkv[2 * c + head * h + d], 3 * c, seen);
      }
    keep(all);
    return mixed;
  }

  model_size size_;
  numbers tokens_, positions_, final_scale_, final_shift_;
  std::vector<layer> layers_;
};

}  // namespace lab01
