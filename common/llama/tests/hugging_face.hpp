// For tests: a random model in Hugging Face's form, its files, and its float64 logits by plain loops. Independent of
// the course's order of weights: the halves of a head rotate together, and there is no cache.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "lab/buffer.hpp"
#include "llama/model.hpp"

namespace hugging_face {

struct tensor {
  std::vector<std::size_t> shape;
  std::vector<float> values;  // each fits bf16
};

struct model {
  llama::config of;
  nlohmann::json settings;
  std::map<std::string, tensor> tensors;
};

inline model random_model(const llama::config& c, unsigned seed) {
  model m{c, {}, {}};
  m.settings = {
      {"model_type", "llama"},          {"num_hidden_layers", c.layers},     {"hidden_size", c.width},
      {"num_attention_heads", c.heads}, {"num_key_value_heads", c.kv_heads}, {"head_dim", c.size},
      {"intermediate_size", c.hidden},  {"vocab_size", c.vocabulary},        {"max_position_embeddings", c.context},
      {"rms_norm_eps", 1e-5},           {"tie_word_embeddings", true}};
  std::mt19937 random(seed);
  const auto add = [&](const std::string& name, std::vector<int> sides, double mean, double spread) {
    tensor t;
    std::size_t count = 1;
    for (const int side : sides) {
      t.shape.push_back(static_cast<std::size_t>(side));
      count *= static_cast<std::size_t>(side);
    }
    for (; count > 0; --count)
      t.values.push_back(static_cast<float>(
          lab::to_bfloat16(static_cast<float>(mean + spread * (static_cast<double>(random()) / 2147483648.0 - 1)))));
    m.tensors[name] = std::move(t);
  };
  const auto matrix = [&](const std::string& name, int rows, int columns) {
    add(name, {rows, columns}, 0, std::sqrt(3.0 / columns));
  };
  add("model.embed_tokens.weight", {c.vocabulary, c.width}, 0, 0.5);
  add("model.norm.weight", {c.width}, 1, 0.3);
  for (int i = 0; i < c.layers; ++i) {
    const std::string at = "model.layers." + std::to_string(i) + ".";
    add(at + "input_layernorm.weight", {c.width}, 1, 0.3);
    add(at + "post_attention_layernorm.weight", {c.width}, 1, 0.3);
    matrix(at + "self_attn.q_proj.weight", c.heads * c.size, c.width);
    matrix(at + "self_attn.k_proj.weight", c.kv_heads * c.size, c.width);
    matrix(at + "self_attn.v_proj.weight", c.kv_heads * c.size, c.width);
    matrix(at + "self_attn.o_proj.weight", c.width, c.heads * c.size);
    matrix(at + "mlp.gate_proj.weight", c.hidden, c.width);
    matrix(at + "mlp.up_proj.weight", c.hidden, c.width);
    matrix(at + "mlp.down_proj.weight", c.width, c.hidden);
  }
  return m;
}

inline std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// A safetensors file of the tensors whose names `chosen` accepts; type is F32, F16 or BF16.
inline std::vector<std::byte> file_of(
    const model& m, const std::string& type,
    const std::function<bool(const std::string&)>& chosen = [](const std::string&) { return true; }) {
  nlohmann::json index{{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const auto& [name, t] : m.tensors) {
    if (!chosen(name)) continue;
    const std::size_t begin = data.size();
    for (const float value : t.values) {
      if (type == "F32") {
        data.append(reinterpret_cast<const char*>(&value), 4);
        continue;
      }
      // To fp16 without rounding: a bf16 in its range loses no bits.
      std::uint32_t word;
      std::memcpy(&word, &value, 4);
      const int exponent = static_cast<int>(word >> 23 & 255) - 127 + 15;
      const std::uint32_t half =
          exponent > 0 ? (word >> 16 & 0x8000) | static_cast<std::uint32_t>(exponent) << 10 | (word >> 13 & 1023)
                       : word >> 16 & 0x8000;
      const auto bits = static_cast<std::uint16_t>(type == "F16" ? half : word >> 16);
      data.append(reinterpret_cast<const char*>(&bits), 2);
    }
    index[name] = {{"dtype", type}, {"shape", t.shape}, {"data_offsets", {begin, data.size()}}};
  }
  const std::string text = index.dump();
  const std::uint64_t length = text.size();
  std::string file(reinterpret_cast<const char*>(&length), 8);
  return bytes_of(file + text + data);
}

/// The logits after each of the tokens, with K and V rounded to bf16 as lab 10's cache has them.
inline std::vector<std::vector<double>> logits_of(const model& m, const std::vector<int>& tokens,
                                                  const std::function<double(int)>& frequency) {
  using doubles = std::vector<double>;
  const llama::config& c = m.of;
  const auto n = [](int i) { return static_cast<std::size_t>(i); };
  const auto product = [&](const std::string& name, const doubles& x) {
    const std::vector<float>& w = m.tensors.at(name).values;
    doubles y(w.size() / x.size());
    for (std::size_t r = 0; r < y.size(); ++r)
      for (std::size_t k = 0; k < x.size(); ++k) y[r] += static_cast<double>(w[r * x.size() + k]) * x[k];
    return y;
  };
  const auto normalized = [&](const std::string& name, const doubles& x) {
    double squares = 0;
    for (const double v : x) squares += v * v;
    doubles y;
    for (std::size_t i = 0; i < x.size(); ++i)
      y.push_back(x[i] / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5) *
                  static_cast<double>(m.tensors.at(name).values[i]));
    return y;
  };
  const auto turn = [&](doubles& heads, int position) {
    for (std::size_t h = 0; h < heads.size(); h += n(c.size))
      for (int i = 0; i < c.size / 2; ++i) {
        double &a = heads[h + n(i)], &b = heads[h + n(i + c.size / 2)];
        const double angle = position * frequency(i), was = a;
        a = was * std::cos(angle) - b * std::sin(angle);
        b = b * std::cos(angle) + was * std::sin(angle);
      }
  };
  const auto round = [](doubles& x) {
    for (double& v : x) v = static_cast<double>(static_cast<float>(lab::to_bfloat16(static_cast<float>(v))));
  };
  std::vector<std::vector<doubles>> keys(n(c.layers)), values(n(c.layers));
  std::vector<doubles> all;
  for (int position = 0; position < static_cast<int>(tokens.size()); ++position) {
    const auto row = m.tensors.at("model.embed_tokens.weight").values.begin() + tokens[n(position)] * c.width;
    doubles x(row, row + c.width);
    for (int i = 0; i < c.layers; ++i) {
      const std::string at = "model.layers." + std::to_string(i) + ".";
      const doubles in = normalized(at + "input_layernorm.weight", x);
      doubles q = product(at + "self_attn.q_proj.weight", in), k = product(at + "self_attn.k_proj.weight", in),
              v = product(at + "self_attn.v_proj.weight", in), mixed(q.size());
      turn(q, position), turn(k, position), round(k), round(v);
      keys[n(i)].push_back(k), values[n(i)].push_back(v);
      for (int h = 0; h < c.heads; ++h) {
        const std::size_t own = n(h * c.size), shared = n(h / (c.heads / c.kv_heads) * c.size);
        doubles weights;
        double sum = 0;
        for (const doubles& key : keys[n(i)]) {
          double score = 0;
          for (std::size_t e = 0; e < n(c.size); ++e) score += q[own + e] * key[shared + e];
          sum += weights.emplace_back(std::exp(score / std::sqrt(c.size)));
        }
        for (std::size_t t = 0; t < weights.size(); ++t)
          for (std::size_t e = 0; e < n(c.size); ++e) mixed[own + e] += weights[t] / sum * values[n(i)][t][shared + e];
      }
      const auto add = [&](const doubles& more) {
        for (std::size_t e = 0; e < x.size(); ++e) x[e] += more[e];
      };
      add(product(at + "self_attn.o_proj.weight", mixed));
      const doubles second = normalized(at + "post_attention_layernorm.weight", x);
      doubles gate = product(at + "mlp.gate_proj.weight", second);
      const doubles up = product(at + "mlp.up_proj.weight", second);
      for (std::size_t e = 0; e < gate.size(); ++e) gate[e] *= up[e] / (1 + std::exp(-gate[e]));
      add(product(at + "mlp.down_proj.weight", gate));
    }
    all.push_back(product("model.embed_tokens.weight", normalized("model.norm.weight", x)));
  }
  return all;
}

}  // namespace hugging_face
