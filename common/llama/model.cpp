// Reads models of the Llama family (llama/model.hpp). Checks everything that it reads from a file.
#include "llama/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <set>
#include <sstream>

#include "gpt2/safetensors.hpp"
#include "lab/buffer.hpp"
#include "lab/splitmix.hpp"

namespace llama {
namespace {

using gpt2::fail;
using nlohmann::json;

std::size_t product(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

/// Accepts what lab 10's contract allows, unless it is too large to be a model.
void expect_supported(const config& c, const std::string& name) {
  constexpr int most = 1 << 20;
  for (const auto& [value, what] : {std::pair{c.layers, "layers"},
                                    {c.width, "numbers per token"},
                                    {c.heads, "heads"},
                                    {c.kv_heads, "K/V heads"},
                                    {c.hidden, "hidden numbers"},
                                    {c.vocabulary, "tokens in its vocabulary"},
                                    {c.context, "tokens of context"}})
    if (value < 1 || value > most) fail(name, fmt::format("a model cannot have {} {}", value, what));
  if (c.size != 64 && c.size != 128)
    fail(name, fmt::format("its heads have {} numbers; lab 10 supports 64 and 128", c.size));
  if (c.width % 8 != 0 || c.hidden % 8 != 0)
    fail(name, fmt::format("width {} and hidden {} must be multiples of 8", c.width, c.hidden));
  const int group = c.heads / c.kv_heads;
  if (c.heads % c.kv_heads != 0 || (group != 1 && group != 2 && group != 4 && group != 8))
    fail(name,
         fmt::format("{} heads share {} K/V heads; lab 10 supports 1, 2, 4 or 8 heads for each", c.heads, c.kv_heads));
  const auto fits = [](std::int64_t rows, std::int64_t columns) {
    return rows * columns <= std::numeric_limits<int>::max();
  };
  const std::int64_t of_qkv = (std::int64_t{c.heads} + 2 * std::int64_t{c.kv_heads}) * c.size;
  if (!fits(c.vocabulary, c.width) || !fits(of_qkv, c.width) || !fits(2 * std::int64_t{c.hidden}, c.width))
    fail(name, "one of its matrices has more than 2^31 - 1 numbers; lab 10 counts them with an int");
}

// ---- config.json --------------------------------------------------------------------------------------------------

/// The members of one JSON object; throws model_error for a wrong type.
class settings {
 public:
  settings(const json& of, const std::string& name) : of_(of), name_(name) {}

  bool has(const char* key) const { return of_.contains(key) && !of_[key].is_null(); }
  const json& at(const char* key) const { return of_[key]; }
  int whole(const char* key, std::optional<int> otherwise = {}) const {
    if (!has(key) && otherwise) return *otherwise;
    if (!has(key) || !of_[key].is_number_integer())
      fail(name_, fmt::format("config.json has no whole number \"{}\"", key));
    return static_cast<int>(std::clamp<std::int64_t>(of_[key].get<std::int64_t>(), -1, 1 << 30));
  }
  double real(const char* key, std::optional<double> otherwise = {}) const {
    if (!has(key) && otherwise) return *otherwise;
    if (!has(key) || !of_[key].is_number()) fail(name_, fmt::format("config.json has no number \"{}\"", key));
    return of_[key].get<double>();
  }
  std::string text(const char* key, const std::string& otherwise) const {
    if (!has(key)) return otherwise;
    return of_[key].is_string() ? of_[key].get<std::string>() : of_[key].dump();
  }
  void expect_false(const char* key, const char* because) const {
    if (has(key) && of_[key] != false)
      fail(name_, fmt::format("config.json says {} = {}: {}", key, of_[key].dump(), because));
  }

 private:
  const json& of_;
  const std::string& name_;
};

/// The angles of Llama 3.1 and later: slow pairs turn slower by `factor`, fast pairs as before, others in between.
double scaled(double frequency, const settings& by, const std::string& name) {
  const double factor = by.real("factor"), low = by.real("low_freq_factor"), high = by.real("high_freq_factor"),
               original = by.real("original_max_position_embeddings");
  if (!(factor >= 1 && low > 0 && high > low && original >= 1 && factor < 1e6 && original < 1e9))
    fail(name, "config.json: the numbers of its rope_scaling make no sense");
  const double turns = original * frequency / (2 * std::numbers::pi);
  const double share = std::clamp((turns - low) / (high - low), 0.0, 1.0);
  return share * frequency + (1 - share) * frequency / factor;
}

std::vector<double> frequencies_of(const settings& model, int size, const std::string& name) {
  // Newer files keep theta and the scaling in one object.
  static const json none = json::object();
  const char* const where = model.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const json& scaling = model.has(where) ? model.at(where) : none;
  if (!scaling.is_object()) fail(name, fmt::format("config.json: {} is not an object", where));
  const settings rope(scaling, name);
  const double theta = rope.real("rope_theta", model.real("rope_theta", 10000.0));
  if (!(theta > 1 && theta < 1e12)) fail(name, fmt::format("config.json: rope_theta is {}", theta));
  const std::string type = rope.text("rope_type", rope.text("type", "default"));
  if (type != "default" && type != "llama3")
    fail(name, fmt::format("config.json: angles are scaled by \"{}\"; supported are \"default\" and \"llama3\"", type));
  std::vector<double> frequencies;
  for (int i = 0; i < size; i += 2) {
    const double frequency = std::pow(theta, -static_cast<double>(i) / size);
    frequencies.push_back(type == "llama3" ? scaled(frequency, rope, name) : frequency);
  }
  return frequencies;
}

config config_of(const settings& in, const std::string& name) {
  if (const std::string type = in.text("model_type", "nothing"); type != "llama")
    fail(name, fmt::format("config.json says model_type = {}; lab 10 computes \"llama\" only", type));
  if (const std::string act = in.text("hidden_act", "silu"); act != "silu")
    fail(name, fmt::format("config.json says hidden_act = {}; lab 10 computes silu", act));
  if (const double eps = in.real("rms_norm_eps", 1e-6); std::abs(eps - 1e-5) > 1e-9)
    fail(name, fmt::format("config.json says rms_norm_eps = {}; lab 10 adds 1e-5", eps));
  in.expect_false("attention_bias", "lab 10's products have no bias");
  in.expect_false("mlp_bias", "lab 10's products have no bias");
  if (in.has("quantization_config")) fail(name, "its weights are quantized; use the model in bf16");
  if (!in.has("tie_word_embeddings") || in.at("tie_word_embeddings") != true)
    fail(name,
         "config.json does not say tie_word_embeddings = true: the logits have separate weights, but lab 10 "
         "multiplies by the embedding. Llama 3.2 1B and 3B are tied");
  config c;
  c.layers = in.whole("num_hidden_layers");
  c.width = in.whole("hidden_size");
  c.heads = in.whole("num_attention_heads");
  c.kv_heads = in.whole("num_key_value_heads", c.heads);
  c.size = in.whole("head_dim", c.heads > 0 ? c.width / c.heads : 0);
  c.hidden = in.whole("intermediate_size");
  c.vocabulary = in.whole("vocab_size");
  c.context = in.whole("max_position_embeddings", 2048);
  expect_supported(c, name);
  return c;
}

// ---- the tensors --------------------------------------------------------------------------------------------------

class tensors {
 public:
  tensors(const std::map<std::string, std::span<const std::byte>>& files, const std::string& name) : name_(name) {
    for (const auto& [file, bytes] : files)
      for (auto& [key, tensor] : gpt2::tensors_of(bytes, name + "/" + file))
        if (!all_.emplace(key, tensor).second) fail(name, fmt::format("tensor {} is in two files", key));
  }

  /// The bits of a tensor as bf16; it must have this shape.
  numbers take(const std::string& key, std::vector<std::size_t> shape) {
    const auto found = all_.find(key);
    if (found == all_.end()) fail(name_, fmt::format("tensor {} is missing; is a part of the model missing?", key));
    if (found->second.shape != shape)
      fail(name_, fmt::format("tensor {} has shape ({}), but config.json says that it should have ({})", key,
                              fmt::join(found->second.shape, ", "), fmt::join(shape, ", ")));
    const std::vector<float> values = gpt2::numbers_of(found->second, key, name_);
    all_.erase(found);
    numbers result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      result[i] = lab::to_bfloat16(values[i]).bits;
      if (!std::isfinite(values[i]) || (result[i] & 0x7F80) == 0x7F80)
        fail(name_, fmt::format("number {} of tensor {} is {}, which is not finite in bf16; the file is damaged", i,
                                key, values[i]));
    }
    return result;
  }

  /// Throws if a tensor was never read, unless it has no effect.
  void expect_rest_unused() const {
    for (const auto& [key, tensor] : all_)
      if (!key.ends_with("rotary_emb.inv_freq") && key != "lm_head.weight")
        fail(name_, fmt::format("tensor {} is not part of the Llama that lab 10 computes", key));
  }

 private:
  std::string name_;
  std::map<std::string, gpt2::stored_tensor> all_;
};

/// Row i and row i + size / 2 of each head become rows 2 i and 2 i + 1.
numbers sorted_pairs(const numbers& rows, int heads, int size, int width) {
  numbers result;
  result.reserve(rows.size());
  for (int h = 0; h < heads; ++h)
    for (int r = 0; r < size; ++r) {
      const auto begin =
          rows.begin() + static_cast<std::ptrdiff_t>(product(h * size + r / 2 + r % 2 * (size / 2), width));
      result.insert(result.end(), begin, begin + width);
    }
  return result;
}

void append(numbers& to, const numbers& from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace

std::vector<float> checkpoint::rotary(int capacity) const {
  std::vector<float> table;
  for (int position = 0; position < capacity; ++position)
    for (const double f : frequencies) {
      table.push_back(static_cast<float>(std::cos(position * f)));
      table.push_back(static_cast<float>(std::sin(position * f)));
    }
  return table;
}

checkpoint checkpoint_from(const std::string& config_json,
                           const std::map<std::string, std::span<const std::byte>>& files, const std::string& name) {
  const json parsed = json::parse(config_json, nullptr, false);
  if (!parsed.is_object()) fail(name, "its config.json is not a JSON object; download it again");
  const settings in(parsed, name);
  checkpoint result;
  const config& c = result.config = config_of(in, name);
  result.frequencies = frequencies_of(in, c.size, name);
  if (in.has("eos_token_id")) {
    const json& ends = in.at("eos_token_id");
    for (const json& end : ends.is_array() ? ends : json::array({ends})) {
      if (!end.is_number_integer()) fail(name, "config.json: eos_token_id is not a token");
      result.ends.push_back(static_cast<int>(std::clamp<std::int64_t>(end.get<std::int64_t>(), -1, c.vocabulary)));
    }
  }
  tensors all(files, name);
  const auto width = static_cast<std::size_t>(c.width), hidden = static_cast<std::size_t>(c.hidden);
  const std::size_t of_q = product(c.heads, c.size), of_kv = product(c.kv_heads, c.size);
  result.embedding = all.take("model.embed_tokens.weight", {static_cast<std::size_t>(c.vocabulary), width});
  result.norm = all.take("model.norm.weight", {width});
  for (int i = 0; i < c.layers; ++i) {
    const auto take = [&](const char* which, std::vector<std::size_t> shape) {
      return all.take(fmt::format("model.layers.{}.{}.weight", i, which), std::move(shape));
    };
    layer l;
    l.norm1 = take("input_layernorm", {width});
    l.qkv = sorted_pairs(take("self_attn.q_proj", {of_q, width}), c.heads, c.size, c.width);
    append(l.qkv, sorted_pairs(take("self_attn.k_proj", {of_kv, width}), c.kv_heads, c.size, c.width));
    append(l.qkv, take("self_attn.v_proj", {of_kv, width}));
    l.out = take("self_attn.o_proj", {width, of_q});
    l.norm2 = take("post_attention_layernorm", {width});
    l.gate_up = take("mlp.gate_proj", {hidden, width});
    append(l.gate_up, take("mlp.up_proj", {hidden, width}));
    l.down = take("mlp.down_proj", {width, hidden});
    result.layers.push_back(std::move(l));
  }
  all.expect_rest_unused();
  return result;
}

checkpoint read_folder(const std::filesystem::path& folder) {
  const std::string name = folder.string();
  if (!std::filesystem::is_directory(folder))
    fail(name, "is not a folder; give the folder of a model, with its config.json and model.safetensors");
  const auto text = [](const std::vector<std::byte>& bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  std::set<std::string> names{"model.safetensors"};
  if (const auto list = folder / "model.safetensors.index.json"; std::filesystem::exists(list)) {
    const json index = json::parse(text(gpt2::bytes_of(list)), nullptr, false);
    if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
      fail(list.string(), "has no weight_map; download it again");
    names.clear();
    for (const json& file : index["weight_map"]) {
      // Accept a name, not a path: a file's contents must not open files elsewhere.
      if (!file.is_string() || file.get<std::string>().find_first_of("/\\") != std::string::npos)
        fail(list.string(), fmt::format("{} is not the name of a file", file.dump()));
      names.insert(file.get<std::string>());
    }
  }
  std::map<std::string, std::vector<std::byte>> contents;
  std::map<std::string, std::span<const std::byte>> files;
  for (const std::string& file : names) files[file] = contents[file] = gpt2::bytes_of(folder / file);
  return checkpoint_from(text(gpt2::bytes_of(folder / "config.json")), files, name);
}

config config_named(const std::string& given) {
  const std::string name = given == "1b"     ? "16:2048:32:8:64:8192:128256:131072"
                           : given == "tiny" ? "2:64:4:2:64:96:101:64"
                                             : given;
  config c;
  std::istringstream in(name);
  char colon = ':';
  for (int* const to : {&c.layers, &c.width, &c.heads, &c.kv_heads, &c.size, &c.hidden, &c.vocabulary, &c.context})
    if (colon != ':' || !(in >> *to) || (to != &c.context && !(in >> colon)))
      fail(given, "is not a model; give 1b, tiny or layers:width:heads:kv_heads:size:hidden:vocabulary:context");
  if (in.peek() != std::istringstream::traits_type::eof())
    fail(given, "is not a model; it has more than eight numbers");
  expect_supported(c, given);
  return c;
}

checkpoint random_checkpoint(const config& of, std::uint64_t seed) {
  expect_supported(of, "random model");
  checkpoint result;
  result.config = of;
  std::uint64_t state = seed;
  const auto random = [&](std::size_t count, double mean, double spread) {
    numbers made(count);
    for (std::uint16_t& bits : made) {
      const double uniform = static_cast<double>(lab::splitmix64(state) >> 11) * 0x1p-52 - 1;
      bits = lab::to_bfloat16(static_cast<float>(mean + spread * uniform)).bits;
    }
    return made;
  };
  const auto matrix = [&](std::size_t rows, int columns) {
    return random(rows * static_cast<std::size_t>(columns), 0, std::sqrt(3.0 / columns));
  };
  const auto norm = [&] { return random(static_cast<std::size_t>(of.width), 1, 0.2); };
  result.embedding = random(product(of.vocabulary, of.width), 0, 0.5);
  result.norm = norm();
  for (int i = 0; i < of.layers; ++i)
    result.layers.push_back({norm(), matrix(product(of.heads + 2 * of.kv_heads, of.size), of.width),
                             matrix(static_cast<std::size_t>(of.width), of.heads * of.size), norm(),
                             matrix(2 * static_cast<std::size_t>(of.hidden), of.width),
                             matrix(static_cast<std::size_t>(of.width), of.hidden)});
  for (int i = 0; i < of.size; i += 2)
    result.frequencies.push_back(std::pow(10000.0, -static_cast<double>(i) / of.size));
  return result;
}

}  // namespace llama
