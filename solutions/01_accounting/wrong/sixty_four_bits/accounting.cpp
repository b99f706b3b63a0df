// Counting before running. Every formula here is two or three ideas: a product of (m, k) and (k, n) costs 2 m n k; its
// backward pass is two such products; and what is stored is counted one tensor after the other.
#include "accounting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lab01 {

//! [matmul]
// m n results, each a sum of k products: k multiplications and k additions.
double matmul_flops(double m, double n, double k) {
  return static_cast<double>(2 * static_cast<std::int64_t>(m) * static_cast<std::int64_t>(n) *
                             static_cast<std::int64_t>(k));
}

double linear_forward_flops(double data, double in, double out) { return matmul_flops(data, out, in); }

// dW = x^T dy is (in, data) times (data, out); dx = dy W^T is (data, out) times (out, in). Each costs the same again.
double linear_backward_flops(double data, double in, double out, bool input_gradient) {
  return matmul_flops(in, out, data) + (input_gradient ? matmul_flops(data, in, out) : 0);
}

// 2 forward, 4 backward, for each parameter and vector: a parameter sits in one product, once for each vector.
double training_flops(double parameters, double data) { return 6 * parameters * data; }
//! [matmul]

//! [transformer]
namespace {

/// Weights of the four linear layers of a block: QKV, projection, up and down.
double linear_weights(double c) { return 3 * c * c + c * c + 4 * c * c + 4 * c * c; }

}  // namespace

double parameters(const transformer& model) {
  const double c = model.channels;
  const double biases = 3 * c + c + 4 * c + c, norms = 2 * 2 * c;
  return (model.vocabulary + model.context) * c + model.layers * (linear_weights(c) + biases + norms) + 2 * c;
}

double attention_flops(double batch, double heads, double tokens, double head_size, bool causal) {
  const double pairs = causal ? tokens * (tokens + 1) / 2 : tokens * tokens;
  return batch * heads * pairs * 2 * (2 * head_size);  // a score, and a share of the values, for each pair
}

double forward_flops(const transformer& model, double batch, double tokens, bool causal) {
  const double c = model.channels;
  const double linear = linear_forward_flops(batch * tokens, 1, linear_weights(c));
  const double attention = attention_flops(batch, model.heads, tokens, c / model.heads, causal);
  return model.layers * (linear + attention) + linear_forward_flops(batch * tokens, c, model.vocabulary);
}
//! [transformer]

//! [memory]
training_bytes training_memory(const transformer& model, double batch, double tokens, double state, double activation) {
  const double c = model.channels, n = parameters(model);
  // Per token: input and output of both norms, QKV, attention's output, the MLP before and after GELU; then a
  // probability for each head and token looked at.
  const double block = (2 + 2 + 3 + 1 + 4 + 4) * c + model.heads * tokens;
  const double last = 2 * c + model.vocabulary;  // the final norm, and the logits
  training_bytes result;
  result.weights = n * state;
  result.gradients = n * state;
  result.optimizer = 2 * n * state;
  result.activations = batch * tokens * (model.layers * block + last) * activation;
  result.batch = 2 * batch * tokens * 8;
  return result;
}

double kv_cache_bytes(const transformer& model, double batch, double tokens, double bytes_each) {
  return 2 * model.layers * model.channels * batch * tokens * bytes_each;
}
//! [memory]

namespace {

int bias_of(format f) { return (1 << (f.exponent_bits - 1)) - 1; }

}  // namespace

//! [formats]
range range_of(format f) {
  range result;
  result.bytes = (1 + f.exponent_bits + f.mantissa_bits) / 8.0;
  result.epsilon = std::ldexp(1.0, -f.mantissa_bits);
  result.largest = std::ldexp(2.0 - result.epsilon, bias_of(f));
  result.smallest_normal = std::ldexp(1.0, 1 - bias_of(f));
  result.smallest = result.smallest_normal * result.epsilon;
  return result;
}

double stored(double value, format f) {
  const range r = range_of(f);
  const double magnitude = std::abs(value);
  if (magnitude == 0.0) return value;
  // Numbers near `value` are one unit apart; below the smallest normal number the unit shrinks no more.
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias_of(f));
  const double unit = std::ldexp(r.epsilon, exponent);
  const double rounded = std::nearbyint(magnitude / unit) * unit;  // to even, the default
  return std::copysign(rounded > r.largest ? std::numeric_limits<double>::infinity() : rounded, value);
}
//! [formats]

//! [pencil]
double elementwise_intensity(double flops, double reads, double writes, double bytes_each) {
  return flops / ((reads + writes) * bytes_each);
}

double matmul_intensity(double m, double n, double k, double bytes_each) {
  return matmul_flops(m, n, k) / ((m * k + k * n + m * n) * bytes_each);
}

double roofline_seconds(double flops, double bytes, double peak_flops, double peak_bytes) {
  return std::max(flops / peak_flops, bytes / peak_bytes);
}
//! [pencil]

//! [planning]
double mfu(double parameters, double tokens_per_second, double peak_flops) {
  return hfu(parameters, tokens_per_second, peak_flops, 0);
}

double hfu(double parameters, double tokens_per_second, double peak_flops, double recomputed) {
  return (6 + 2 * recomputed) * parameters * tokens_per_second / peak_flops;
}

double training_days(double parameters, double tokens, double devices, double peak_flops, double mfu) {
  return training_flops(parameters, tokens) / (devices * peak_flops * mfu) / (24 * 60 * 60);
}

double largest_model(double devices, double bytes_of_each, double bytes_per_parameter) {
  return devices * bytes_of_each / bytes_per_parameter;
}
//! [planning]

}  // namespace lab01
