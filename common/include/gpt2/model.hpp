// GPT-2 as numbers: its sizes, each weight's position, and files of weights. Weights are in the order of llm.c's
// checkpoints (github.com/karpathy/llm.c): consecutive floats, with all layers of one tensor together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpt2 {

struct config {
  int context = 1024;             ///< the longest text, in tokens
  int vocabulary = 50257;         ///< number of different tokens
  int padded_vocabulary = 50304;  ///< rows of the token embedding, the last ones unused
  int layers = 12;
  int heads = 12;
  int channels = 768;
  int head_size() const { return channels / heads; }
  bool operator==(const config&) const = default;
};

/// "d12" (GPT-2 124M), "d24", "d36", "d48", "tiny", or six numbers "context:vocabulary:padded:layers:heads:channels".
/// Throws model_error for anything else.
config config_named(const std::string& name);

/// An invalid file, configuration or token; what() says what to do.
struct model_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class tensor {
  token_embedding,     // (padded_vocabulary, channels), also the weights of the logits
  position_embedding,  // (context, channels)
  norm1_weight,        // (layers, channels); tensors of a layer begin with `layers`
  norm1_bias,
  qkv_weight,  // (3 channels, channels): row r gives output r
  qkv_bias,
  projection_weight,  // (channels, channels)
  projection_bias,
  norm2_weight,
  norm2_bias,
  expand_weight,  // (4 channels, channels)
  expand_bias,
  contract_weight,  // (channels, 4 channels)
  contract_bias,
  final_norm_weight,  // (channels)
  final_norm_bias,
  count
};

/// Floats in this tensor, or in one layer's part if each layer has its own.
std::size_t size_of(const config& of, tensor which);
std::size_t offset_of(const config& of, tensor which, int layer = 0);
/// Number of floats in all tensors.
std::size_t parameters(const config& of);

/// Throws model_error if a size is not positive or contradicts the others.
void expect_sane(const config& of, const std::string& where);

/// Throws model_error if there are no tokens, if their number is not batch * length or exceeds the context, or if one
/// is out of range.
void expect_tokens(const config& of, std::span<const int> tokens, int batch, int length);

struct checkpoint {
  gpt2::config config;
  std::vector<float> weights;
  const float* at(tensor which, int layer = 0) const { return weights.data() + offset_of(config, which, layer); }
};

/// llm.c's format, version 3 (fp32) or 5 (bf16), or Hugging Face's safetensors (F32, F16 or BF16; the number of heads
/// comes from config.json next to it, or else is channels / 64). Throws model_error.
checkpoint read_checkpoint(const std::filesystem::path& file);

/// The same from memory; messages call the file `name`; `config_json` is the text of config.json or "".
checkpoint checkpoint_from(std::span<const std::byte> file, const std::string& name,
                           const std::string& config_json = "");

enum class stored_as { fp32, bf16 };
void write_checkpoint(const std::filesystem::path& file, const checkpoint& what, stored_as = stored_as::fp32);

/// Initialised as GPT-2 was before training, but with random LayerNorms and biases instead of 1 and 0, so that a pass
/// that forgets one gives wrong logits. The same seed gives the same model on every machine.
checkpoint random_checkpoint(const config& of, std::uint64_t seed);

}  // namespace gpt2
