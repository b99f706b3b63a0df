// Models of the Llama family as lab 10 computes them: sizes, weights in the order of its contract
// (labs/10_decode/decode.hpp), and Hugging Face's folders, which use another order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gpt2/model.hpp"

namespace llama {

using gpt2::model_error;

struct config {
  int layers = 0, width = 0, heads = 0, kv_heads = 0, size = 0, hidden = 0, vocabulary = 0;
  int context = 0;  ///< the longest text that it was made for, in tokens
  bool operator==(const config&) const = default;
};

/// "1b" (Llama 3.2 1B), "tiny", or eight numbers "layers:width:heads:kv_heads:size:hidden:vocabulary:context". Throws
/// model_error for anything else, and for sizes that lab 10's contract excludes.
config config_named(const std::string& name);

/// Matrices are row-major; an element holds the bits of a bf16.
using numbers = std::vector<std::uint16_t>;

struct layer {
  numbers norm1;    // (width)
  numbers qkv;      // ((heads + 2 kv_heads) size, width): rows of q, then of k, then of v
  numbers out;      // (width, heads size)
  numbers norm2;    // (width)
  numbers gate_up;  // (2 hidden, width): rows of gate, then of up
  numbers down;     // (width, hidden)
};

struct checkpoint {
  llama::config config;
  numbers embedding;  // (vocabulary, width), also the weights of the logits
  numbers norm;       // (width)
  std::vector<layer> layers;
  std::vector<double> frequencies;  // (size / 2): the angle by which each pair of a head rotates per token
  std::vector<int> ends;            // tokens that end a text

  /// cos and sin of each pair's angle, for the first `capacity` tokens: (capacity, size).
  std::vector<float> rotary(int capacity) const;
};

/// A Hugging Face folder: config.json, and model.safetensors or its parts with model.safetensors.index.json; F32, F16
/// or BF16, rounded to bf16. Rows of q and k are reordered: Hugging Face rotates number i of a head with number i +
/// size / 2, lab 10 number 2 i with 2 i + 1. Throws model_error for what is not supported: other families, separate
/// weights for the logits, biases, an epsilon other than 1e-5, heads other than lab 10's, scaled angles except Llama
/// 3's.
checkpoint read_folder(const std::filesystem::path& folder);

/// The same from memory: the contents of config.json, and of each tensor file by its name.
checkpoint checkpoint_from(const std::string& config_json,
                           const std::map<std::string, std::span<const std::byte>>& files, const std::string& name);

/// Random weights, the same on every machine.
checkpoint random_checkpoint(const config& of, std::uint64_t seed);

}  // namespace llama
