// Classes: a Model object that knows its layers.
#include "accounting.hpp"
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>
#include <iostream>
#include <sstream>
namespace lab01 {
namespace {
class Layer {
 public:
  virtual ~Layer() = default;
  virtual double params() const = 0;
  virtual double flops(double tokens) const = 0;
  virtual double kept(double tokens) const = 0;
};
class Linear : public Layer {
 public:
  Linear(double in, double out) : in_(in), out_(out) {}
  double params() const override { return in_ * out_ + out_; }
  double flops(double tokens) const override { return linear_forward_flops(tokens, in_, out_); }
  double kept(double tokens) const override { return tokens * out_; }
 protected:
  double in_, out_;
};
class Norm : public Layer {
 public:
  explicit Norm(double c) : c_(c) {}
  double params() const override { return 2 * c_; }
  double flops(double) const override { return 0; }
  double kept(double tokens) const override { return 2 * c_ * tokens; }  // its input and its output
 private:
  double c_;
};
class Gelu : public Layer {
 public:
  explicit Gelu(double c) : c_(c) {}
  double params() const override { return 0; }
  double flops(double) const override { return 0; }
  double kept(double tokens) const override { return c_ * tokens; }
 private:
  double c_;
};
class Attention : public Layer {
 public:
  Attention(double heads, double c, bool causal) : heads_(heads), c_(c), causal_(causal) {}
  double params() const override { return 0; }
  double flops(double tokens) const override { return attention_flops(1, heads_, tokens, c_ / heads_, causal_); }
  double kept(double tokens) const override { return heads_ * tokens * tokens + tokens * c_; }
 private:
  double heads_, c_;
  bool causal_;
};
class Model {
 public:
  Model(const transformer& t, bool causal) : t_(t) {
    const double c = t.channels;
    block_.push_back(std::make_unique<Norm>(c));
    block_.push_back(std::make_unique<Linear>(c, 3 * c));
    block_.push_back(std::make_unique<Attention>(t.heads, c, causal));
    block_.push_back(std::make_unique<Linear>(c, c));
    block_.push_back(std::make_unique<Norm>(c));
    block_.push_back(std::make_unique<Linear>(c, 4 * c));
    block_.push_back(std::make_unique<Gelu>(4 * c));
    block_.push_back(std::make_unique<Linear>(4 * c, c));
  }
  double params() const {
    double n = 0;
    for (auto& l : block_) n += l->params();
    return t_.layers * n + t_.vocabulary * t_.channels + t_.context * t_.channels + 2 * t_.channels;
  }
  double flops(double batch, double tokens) const {
    double n = 0;
    for (auto& l : block_) n += l->flops(tokens);
    return batch * (t_.layers * n + matmul_flops(tokens, t_.vocabulary, t_.channels));
  }
  double kept(double batch, double tokens) const {
    double n = 0;
    for (auto& l : block_) n += l->kept(tokens);
    n -= 2 * tokens * t_.channels;  // outputs of the projections go into the residual, not kept
    return batch * (t_.layers * n + 2 * tokens * t_.channels + tokens * t_.vocabulary);
  }
 private:
  transformer t_;
  std::vector<std::unique_ptr<Layer>> block_;
};
}  // namespace
double matmul_flops(double m, double n, double k) { return 2 * m * n * k; }
double linear_forward_flops(double data, double in, double out) { return 2 * data * in * out; }
double linear_backward_flops(double data, double in, double out, bool input_gradient) {
  return linear_forward_flops(data, in, out) * (1 + input_gradient);
}
double training_flops(double parameters, double data) { return 6 * data * parameters; }
double parameters(const transformer& model) { return Model(model, false).params(); }
double attention_flops(double batch, double heads, double tokens, double head_size, bool causal) {
  double pairs = 0;
  if (causal) for (double i = 1; i <= tokens; ++i) pairs += i; else pairs = tokens * tokens;
  return 4 * batch * heads * pairs * head_size;
}
double forward_flops(const transformer& model, double batch, double tokens, bool causal) {
  return Model(model, causal).flops(batch, tokens);
}
training_bytes training_memory(const transformer& model, double batch, double tokens, double state, double activation) {
  Model m(model, true);
  training_bytes t;
  t.weights = t.gradients = m.params() * state;
  t.optimizer = 2 * t.weights;
  t.activations = m.kept(batch, tokens) * activation;
  t.batch = 2 * sizeof(std::int64_t) * batch * tokens;
  return t;
}
double kv_cache_bytes(const transformer& model, double batch, double tokens, double bytes_each) {
  return 2.0 * batch * tokens * model.layers * model.channels * bytes_each;
}
range range_of(format f) {
  range r;
  r.bytes = (1.0 + f.exponent_bits + f.mantissa_bits) / 8;
  const double bias = std::exp2(f.exponent_bits - 1) - 1;
  r.epsilon = std::exp2(-f.mantissa_bits);
  r.smallest_normal = std::exp2(1 - bias);
  r.smallest = r.smallest_normal * r.epsilon;
  r.largest = (2 - r.epsilon) * std::exp2(bias);
  return r;
}
double stored(double value, format f) {
  const range r = range_of(f);
  double magnitude = std::fabs(value);
  if (magnitude == 0 || !std::isfinite(value)) return value;
  double spacing = r.smallest;
  if (magnitude >= r.smallest_normal) spacing = std::exp2(std::floor(std::log2(magnitude))) * r.epsilon;
  double q = std::round(magnitude / spacing);
  if (std::fabs(magnitude / spacing - std::trunc(magnitude / spacing)) == 0.5 && std::fmod(q, 2) == 1) q -= 1;
  double result = q * spacing;
  if (result > r.largest) result = std::numeric_limits<double>::infinity();
  return value < 0 ? -result : result;
}
double elementwise_intensity(double flops, double reads, double writes, double bytes_each) {
  return flops / (reads + writes) / bytes_each;
}
double matmul_intensity(double m, double n, double k, double bytes_each) {
  return 2 * m * n * k / (bytes_each * (m * n + n * k + m * k));
}
double roofline_seconds(double f, double b, double pf, double pb) { return std::fmax(f / pf, b / pb); }
double mfu(double p, double t, double peak) { return 6 * p * t / peak; }
double hfu(double p, double t, double peak, double r) { return (6 + 2 * r) * p * t / peak; }
double training_days(double p, double t, double d, double peak, double u) { return 6 * p * t / (d * peak * u * 86400); }
double largest_model(double d, double b, double per) { return d * b / per; }
}  // namespace lab01
