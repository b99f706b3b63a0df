// The forward pass in float64 in its most direct form, the cost of its blocks, and the order of blocks in every pass.
#include <cmath>

#include "gpt2/pass.hpp"
#include "lab/range.hpp"

namespace gpt2 {
namespace {

using row = std::vector<double>;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

row layer_norm(const row& x, const float* weight, const float* bias) {
  double mean = 0, variance = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
  row out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    out[i] = (x[i] - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(weight[i]) + static_cast<double>(bias[i]);
  return out;
}

/// out = W x + b; `bias` may be null.
row linear(const row& x, const float* weight, const float* bias, int outputs) {
  row out(at(outputs));
  for (std::size_t o = 0; o < out.size(); ++o) {
    double sum = bias ? static_cast<double>(bias[o]) : 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * static_cast<double>(weight[o * x.size() + i]);
    out[o] = sum;
  }
  return out;
}

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

void add(row& x, const row& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

/// For each token, the weighted values of itself and its predecessors.
std::vector<row> attention(const std::vector<row>& qkv, const config& c) {
  const std::size_t size = at(c.head_size()), channels = at(c.channels);
  std::vector<row> out(qkv.size(), row(channels));
  for (std::size_t t = 0; t < qkv.size(); ++t)
    for (std::size_t h = 0; h < channels; h += size) {
      row weight(t + 1);
      double largest = -INFINITY, sum = 0;
      for (std::size_t s = 0; s <= t; ++s) {
        for (std::size_t i = 0; i < size; ++i) weight[s] += qkv[t][h + i] * qkv[s][channels + h + i];
        weight[s] /= std::sqrt(static_cast<double>(size));
        largest = std::max(largest, weight[s]);
      }
      for (double& w : weight) sum += w = std::exp(w - largest);
      for (std::size_t s = 0; s <= t; ++s)
        for (std::size_t i = 0; i < size; ++i) out[t][h + i] += weight[s] / sum * qkv[s][2 * channels + h + i];
    }
  return out;
}

}  // namespace

std::vector<double> reference_logits(const checkpoint& model, std::span<const int> tokens, int batch, int length) {
  const config& c = model.config;
  expect_tokens(c, tokens, batch, length);
  std::vector<double> logits;
  logits.reserve(tokens.size() * at(c.vocabulary));
  for (int b = 0; b < batch; ++b) {
    std::vector<row> x(at(length), row(at(c.channels)));
    for (int t = 0; t < length; ++t)
      for (std::size_t i = 0; i < x[at(t)].size(); ++i)
        x[at(t)][i] =
            static_cast<double>(model.at(tensor::token_embedding)[at(tokens[at(b * length + t)] * c.channels) + i]) +
            static_cast<double>(model.at(tensor::position_embedding)[at(t * c.channels) + i]);
    for (int l = 0; l < c.layers; ++l) {
      std::vector<row> qkv;
      for (const row& v : x)
        qkv.push_back(linear(layer_norm(v, model.at(tensor::norm1_weight, l), model.at(tensor::norm1_bias, l)),
                             model.at(tensor::qkv_weight, l), model.at(tensor::qkv_bias, l), 3 * c.channels));
      const std::vector<row> mixed = attention(qkv, c);
      for (std::size_t t = 0; t < x.size(); ++t) {
        add(x[t],
            linear(mixed[t], model.at(tensor::projection_weight, l), model.at(tensor::projection_bias, l), c.channels));
        row hidden = linear(layer_norm(x[t], model.at(tensor::norm2_weight, l), model.at(tensor::norm2_bias, l)),
                            model.at(tensor::expand_weight, l), model.at(tensor::expand_bias, l), 4 * c.channels);
        for (double& h : hidden) h = gelu(h);
        add(x[t], linear(hidden, model.at(tensor::contract_weight, l), model.at(tensor::contract_bias, l), c.channels));
      }
    }
    for (const row& v : x) {
      const row out = linear(layer_norm(v, model.at(tensor::final_norm_weight), model.at(tensor::final_norm_bias)),
                             model.at(tensor::token_embedding), nullptr, c.vocabulary);
      logits.insert(logits.end(), out.begin(), out.end());
    }
  }
  return logits;
}

const char* name_of(block which) {
  constexpr const char* names[] = {"embedding", "LayerNorm 1", "attention",       "residual 1", "LayerNorm 2",
                                   "MLP",       "residual 2",  "final LayerNorm", "logits"};
  return names[static_cast<int>(which)];
}

block_work work_of(block which, const config& of, int batch, int length, double bytes_each) {
  const double rows = static_cast<double>(batch) * length, c = of.channels, x = rows * c;
  const double pairs = static_cast<double>(batch) * of.heads * length * length;
  const auto work = [&](double flops, double weights, double activations) {
    return block_work{flops, bytes_each * weights, bytes_each * activations};
  };
  switch (which) {
    case block::embedding: return work(x, x + length * c, x);
    case block::norm1:
    case block::norm2:
    case block::final_norm: return work(8 * x, 2 * c, 2 * x);
    case block::residual1:
    case block::residual2: return work(x, 0, 3 * x);
    case block::attention:
      // QKV, scores, softmax, weighted values, projection.
      return work(2 * x * 4 * c + 4 * x + 4 * c * batch * static_cast<double>(length) * length + 6 * pairs,
                  4 * c * c + 4 * c, (x + 3 * x) + (2 * x + pairs) + 2 * pairs + (pairs + x + x) + 2 * x);
    case block::mlp:
      // Expand, GELU, contract.
      return work(2 * x * 8 * c + 5 * x + 9 * 4 * x, 8 * c * c + 5 * c, (x + 4 * x) + 8 * x + (4 * x + x));
    case block::logits: {
      const double v = of.padded_vocabulary;
      return work(2 * x * v, v * c, x + rows * v);
    }
  }
  return {};
}

void pass::run() {
  const auto in_range = [this](block which, int layer, std::initializer_list<operation> all) {
    const std::optional<lab::work> must = work(which);
    if (!must) return;
    const lab::range here(name_of(which), *must);
    for (const operation one : all) compute(one, layer);
  };
  using enum operation;
  in_range(block::embedding, 0, {embed});
  for (int l = 0; l < layers(); ++l) {
    in_range(block::norm1, l, {normalize_before_attention});
    in_range(block::attention, l, {project_to_qkv, multiply_queries_by_keys, softmax, weigh_values, project_attention});
    in_range(block::residual1, l, {add_attention});
    in_range(block::norm2, l, {normalize_before_mlp});
    in_range(block::mlp, l, {expand, gelu, contract});
    in_range(block::residual2, l, {add_mlp});
  }
  in_range(block::final_norm, 0, {normalize_last});
  in_range(block::logits, 0, {multiply_by_embedding});
}

}  // namespace gpt2
