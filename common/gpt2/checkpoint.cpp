// Reading and writing checkpoints. Whatever a file says is checked before it is believed: it may be truncated, damaged,
// of another model, or no checkpoint at all.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gpt2/model.hpp"
#include "lab/buffer.hpp"

namespace gpt2 {
namespace {

using nlohmann::json;

constexpr std::int32_t magic = 20240326;
constexpr std::size_t header_bytes = 256 * sizeof(std::int32_t);

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw model_error(fmt::format("{}: {}", name, what));
}

float half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  const float size = exponent == 0    ? std::ldexp(static_cast<float>(mantissa), -24)
                     : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                      : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  return bits >> 15 ? -size : size;
}

/// `count` numbers of one of the three types, wherever they lie.
void read_numbers(float* to, const std::byte* from, std::size_t count, const std::string& type) {
  if (type == "F32") {
    std::memcpy(to, from, count * sizeof(float));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    to[i] = type == "BF16" ? static_cast<float>(lab::bfloat16{bits}) : half_value(bits);
  }
}

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
  checkpoint result{c, std::vector<float>(parameters(c))};
  read_numbers(result.weights.data(), file.data() + header_bytes, result.weights.size(), version == 3 ? "F32" : "BF16");
  return result;
}

// ---- safetensors: 8 bytes of length, so much JSON that says where each tensor stands, then the tensors

struct stored_tensor {
  std::string type;
  std::vector<std::size_t> shape;
  std::span<const std::byte> data;
};

class safetensors {
 public:
  safetensors(std::span<const std::byte> file, const std::string& name) : name_(name) {
    std::uint64_t length = 0;
    if (file.size() >= sizeof length) std::memcpy(&length, file.data(), sizeof length);
    if (file.size() < sizeof length || length > file.size() - sizeof length)
      fail(name, "this is neither an llm.c checkpoint nor a complete safetensors file; is it truncated?");
    const auto* text = reinterpret_cast<const char*>(file.data()) + sizeof length;
    const auto data = file.subspan(sizeof length + length);
    const json index = json::parse(text, text + length, nullptr, false);
    if (!index.is_object())
      fail(name, "its list of tensors is not JSON; the file is damaged, or is not a safetensors file");
    for (const auto& [key, entry] : index.items()) {
      if (key == "__metadata__") continue;
      try {
        stored_tensor t{entry.at("dtype").get<std::string>(), entry.at("shape").get<std::vector<std::size_t>>(), {}};
        const auto offsets = entry.at("data_offsets").get<std::vector<std::uint64_t>>();
        if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size())
          fail(name, fmt::format("tensor {} is outside the file; the file is truncated: download it again", key));
        t.data = data.subspan(offsets[0], offsets[1] - offsets[0]);
        tensors_[key] = t;
      } catch (const json::exception&) {
        fail(name, fmt::format("the entry of tensor {} is malformed; the file is damaged", key));
      }
    }
  }

  /// With the names of GPT2LMHeadModel, or without "transformer." before each.
  const stored_tensor& at(const std::string& key) const {
    for (const std::string& full : {"transformer." + key, key})
      if (const auto found = tensors_.find(full); found != tensors_.end()) return found->second;
    fail(name_, fmt::format("tensor {} is missing; this is not a GPT-2 model", key));
  }
  bool contains(const std::string& key) const {
    return tensors_.contains("transformer." + key) || tensors_.contains(key);
  }

  /// Into `to`; where `transposed`, (in, out) there becomes (out, in) here.
  void read(const std::string& key, std::vector<std::size_t> shape, float* to, bool transposed = false) const {
    const stored_tensor& t = at(key);
    if (transposed) std::swap(shape[0], shape[1]);
    if (t.shape != shape)
      fail(name_, fmt::format("tensor {} has shape ({}), but ({}) was expected: this is not a GPT-2 model, or "
                              "config.json belongs to another one",
                              key, fmt::join(t.shape, ", "), fmt::join(shape, ", ")));
    std::size_t count = 1;
    for (const std::size_t side : shape) count *= side;
    const std::size_t each = t.type == "F32" ? 4 : 2;
    if (t.type != "F32" && t.type != "F16" && t.type != "BF16")
      fail(name_, fmt::format("tensor {} has type {}; convert it to F32, F16 or BF16", key, t.type));
    if (t.data.size() != each * count)
      fail(name_, fmt::format("tensor {} has {} bytes, not {}; the file is damaged", key, t.data.size(), each * count));
    if (!transposed) return read_numbers(to, t.data.data(), count, t.type);
    std::vector<float> as_stored(count);
    read_numbers(as_stored.data(), t.data.data(), count, t.type);
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
  // Rounded up to a multiple of 128, as llm.c does: the rows of a matrix product then fill its tiles.
  c.padded_vocabulary = (c.vocabulary + 127) / 128 * 128;
  expect_sane(c, name);
  // What the file holds bounds what is made room for.
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

std::vector<std::byte> bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in || !std::filesystem::is_regular_file(path))
    fail(path.string(), "cannot be read; is the name right? --random d12 makes a model without a file");
  std::vector<std::byte> bytes(static_cast<std::size_t>(in.tellg()));
  in.seekg(0);
  if (!in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())))
    fail(path.string(), "cannot be read to the end");
  return bytes;
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
