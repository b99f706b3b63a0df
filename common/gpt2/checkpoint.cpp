// Reading and writing checkpoints. Everything read from a file is checked first: it may be truncated, damaged, from
// another model, or no checkpoint at all.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gpt2/safetensors.hpp"
#include "lab/buffer.hpp"

namespace gpt2 {
namespace {

using nlohmann::json;

constexpr std::int32_t magic = 20240326;
constexpr std::size_t header_bytes = 256 * sizeof(std::int32_t);

void expect_finite(const checkpoint& c, const std::string& name) {
  for (std::size_t i = 0; i < c.weights.size(); ++i)
    if (!std::isfinite(c.weights[i]))
      fail(name, fmt::format("weight {} is not a finite number; the file is damaged, or the training diverged", i));
}

checkpoint from_llmc(std::span<const std::byte> file, const std::string& name) {
  std::int32_t header[256];
  if (file.size() < header_bytes)
    fail(name, fmt::format("the file has {} bytes, but its header needs {}; it is truncated: download it again",
                           file.size(), header_bytes));
  std::memcpy(header, file.data(), header_bytes);
  const std::int32_t version = header[1];
  if (version != 3 && version != 5)
    fail(name, fmt::format("the file has version {} of llm.c's format; only 3 (fp32) and 5 (bf16) are supported: write "
                           "it again with llm.c's train_gpt2.py of 2024-05 or later",
                           version));
  const config c{.context = header[2],
                 .vocabulary = header[3],
                 .padded_vocabulary = header[7],
                 .layers = header[4],
                 .heads = header[5],
                 .channels = header[6]};
  expect_sane(c, name);
  const std::size_t each = version == 3 ? 4 : 2, expected = header_bytes + each * parameters(c);
  if (file.size() != expected)
    fail(name,
         fmt::format(
             "the file has {} bytes, but a model of {} layers and {} channels takes {}; it is {}: download it again",
             file.size(), c.layers, c.channels, expected,
             file.size() < expected ? "truncated" : "too long, so it is damaged"));
  checkpoint result{c, {}};
  result.weights =
      numbers_of({version == 3 ? "F32" : "BF16", {parameters(c)}, file.subspan(header_bytes)}, "weights", name);
  return result;
}

// ---- safetensors

class safetensors {
 public:
  safetensors(std::span<const std::byte> file, const std::string& name)
      : name_(name), tensors_(tensors_of(file, name)) {}

  /// Tensors have GPT2LMHeadModel's names, or the same without the prefix "transformer.".
  const stored_tensor& at(const std::string& key) const {
    for (const std::string& full : {"transformer." + key, key})
      if (const auto found = tensors_.find(full); found != tensors_.end()) return found->second;
    fail(name_, fmt::format("tensor {} is missing; this is not a GPT-2 model", key));
  }
  bool contains(const std::string& key) const {
    return tensors_.contains("transformer." + key) || tensors_.contains(key);
  }

  /// Writes a tensor to `to`; if `transposed`, the file's (in, out) becomes (out, in).
  void read(const std::string& key, std::vector<std::size_t> shape, float* to, bool transposed = false) const {
    const stored_tensor& t = at(key);
    if (transposed) std::swap(shape[0], shape[1]);
    if (t.shape != shape)
      fail(name_, fmt::format("tensor {} has shape ({}), but ({}) was expected: this is not a GPT-2 model, or "
                              "config.json belongs to another one",
                              key, fmt::join(t.shape, ", "), fmt::join(shape, ", ")));
    const std::vector<float> as_stored = numbers_of(t, key, name_);
    if (!transposed) {
      std::copy(as_stored.begin(), as_stored.end(), to);
      return;
    }
    for (std::size_t in = 0; in < shape[0]; ++in)
      for (std::size_t out = 0; out < shape[1]; ++out) to[out * shape[0] + in] = as_stored[in * shape[1] + out];
  }

 private:
  std::string name_;
  std::map<std::string, stored_tensor> tensors_;
};

checkpoint from_safetensors(std::span<const std::byte> file, const std::string& name, const std::string& config_json) {
  const safetensors in(file, name);
  const auto &wte = in.at("wte.weight"), &wpe = in.at("wpe.weight");
  constexpr std::size_t most = 1 << 20;
  for (const stored_tensor* t : {&wte, &wpe})
    if (t->shape.size() != 2 || t->shape[0] > most || t->shape[1] > most)
      fail(name, "wte.weight and wpe.weight must have two dimensions, of at most 2^20");
  config c;
  c.vocabulary = c.padded_vocabulary = static_cast<int>(wte.shape[0]);
  c.channels = static_cast<int>(wte.shape[1]);
  c.context = static_cast<int>(wpe.shape[0]);
  for (c.layers = 0; in.contains(fmt::format("h.{}.ln_1.weight", c.layers));) ++c.layers;
  if (!config_json.empty()) {
    const json settings = json::parse(config_json, nullptr, false);
    if (!settings.is_object() || !settings.contains("n_head") || !settings["n_head"].is_number_integer())
      fail(name, "the config.json next to it is damaged, or has no n_head");
    c.heads = static_cast<int>(std::clamp<std::int64_t>(settings["n_head"].get<std::int64_t>(), -1, most));
  } else if (c.channels % 64 == 0) {
    c.heads = c.channels / 64;
  } else {
    fail(name, "the number of heads is unknown: put the model's config.json next to the file");
  }
  // Rounded up to a multiple of 128, as in llm.c, so that the rows of a matrix product fill its tiles.
  c.padded_vocabulary = (c.vocabulary + 127) / 128 * 128;
  expect_sane(c, name);
  // The file's size limits the memory that we allocate.
  if (parameters(c) - offset_of(c, tensor::position_embedding) > file.size())
    fail(name, fmt::format("{} layers of {} channels do not fit {} bytes; the file is damaged", c.layers, c.channels,
                           file.size()));
  checkpoint result{c, std::vector<float>(parameters(c))};
  const auto to = [&](tensor which, int layer = 0) { return result.weights.data() + offset_of(c, which, layer); };
  const auto n = static_cast<std::size_t>(c.channels);
  in.read("wte.weight", {wte.shape[0], n}, to(tensor::token_embedding));
  in.read("wpe.weight", {wpe.shape[0], n}, to(tensor::position_embedding));
  for (int l = 0; l < c.layers; ++l) {
    const std::string h = fmt::format("h.{}.", l);
    in.read(h + "ln_1.weight", {n}, to(tensor::norm1_weight, l));
    in.read(h + "ln_1.bias", {n}, to(tensor::norm1_bias, l));
    in.read(h + "attn.c_attn.weight", {3 * n, n}, to(tensor::qkv_weight, l), true);
    in.read(h + "attn.c_attn.bias", {3 * n}, to(tensor::qkv_bias, l));
    in.read(h + "attn.c_proj.weight", {n, n}, to(tensor::projection_weight, l), true);
    in.read(h + "attn.c_proj.bias", {n}, to(tensor::projection_bias, l));
    in.read(h + "ln_2.weight", {n}, to(tensor::norm2_weight, l));
    in.read(h + "ln_2.bias", {n}, to(tensor::norm2_bias, l));
    in.read(h + "mlp.c_fc.weight", {4 * n, n}, to(tensor::expand_weight, l), true);
    in.read(h + "mlp.c_fc.bias", {4 * n}, to(tensor::expand_bias, l));
    in.read(h + "mlp.c_proj.weight", {n, 4 * n}, to(tensor::contract_weight, l), true);
    in.read(h + "mlp.c_proj.bias", {n}, to(tensor::contract_bias, l));
  }
  in.read("ln_f.weight", {n}, to(tensor::final_norm_weight));
  in.read("ln_f.bias", {n}, to(tensor::final_norm_bias));
  return result;
}

}  // namespace

checkpoint checkpoint_from(std::span<const std::byte> file, const std::string& name, const std::string& config_json) {
  std::int32_t first = 0;
  if (file.size() >= sizeof first) std::memcpy(&first, file.data(), sizeof first);
  if (file.empty()) fail(name, "is empty");
  checkpoint result = first == magic ? from_llmc(file, name) : from_safetensors(file, name, config_json);
  expect_finite(result, name);
  return result;
}

checkpoint read_checkpoint(const std::filesystem::path& file) {
  std::string settings;
  if (std::ifstream in(file.parent_path() / "config.json"); in && file.extension() == ".safetensors")
    settings.assign(std::istreambuf_iterator<char>(in), {});
  return checkpoint_from(bytes_of(file), file.string(), settings);
}

void write_checkpoint(const std::filesystem::path& file, const checkpoint& what, stored_as form) {
  const config& c = what.config;
  std::int32_t header[256] = {magic,      form == stored_as::fp32 ? 3 : 5,
                              c.context,  c.vocabulary,
                              c.layers,   c.heads,
                              c.channels, c.padded_vocabulary};
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(header), sizeof header);
  if (form == stored_as::fp32) {
    out.write(reinterpret_cast<const char*>(what.weights.data()),
              static_cast<std::streamsize>(what.weights.size() * sizeof(float)));
  } else {
    std::vector<lab::bfloat16> rounded;
    rounded.reserve(what.weights.size());
    for (const float w : what.weights) rounded.push_back(lab::to_bfloat16(w));
    out.write(reinterpret_cast<const char*>(rounded.data()), static_cast<std::streamsize>(2 * rounded.size()));
  }
  out.close();
  if (!out) fail(file.string(), "cannot be written; is the disk full, or does the folder not exist?");
}

}  // namespace gpt2
