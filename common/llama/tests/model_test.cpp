// Tests reading Hugging Face folders: what is supported, what is refused with which message, and arbitrary bytes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "hugging_face.hpp"

namespace {

using namespace llama;
using hugging_face::bytes_of;
using hugging_face::file_of;

const config small{
    .layers = 2, .width = 16, .heads = 2, .kv_heads = 1, .size = 64, .hidden = 24, .vocabulary = 11, .context = 32};

std::string error_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const model_error& error) {
    return error.what();
  }
  return "";
}

checkpoint read(const hugging_face::model& m, const std::string& type = "BF16") {
  const auto file = file_of(m, type);
  return checkpoint_from(m.settings.dump(), {{"model.safetensors", file}}, "m");
}

float at(const numbers& of, std::size_t i) { return static_cast<float>(lab::bfloat16{of[i]}); }

TEST(Folder, IsReadInEachType) {
  const hugging_face::model m = hugging_face::random_model(small, 1);
  const checkpoint want = read(m, "F32");
  EXPECT_EQ(want.config, small);
  for (const char* type : {"BF16", "F32"}) {
    const checkpoint got = read(m, type);
    EXPECT_EQ(got.embedding, want.embedding);
    EXPECT_EQ(got.layers[1].gate_up, want.layers[1].gate_up);
  }
  const checkpoint half = read(m, "F16");  // in F16, small numbers lose bits
  for (std::size_t i = 0; i < want.embedding.size(); ++i)
    ASSERT_NEAR(at(half.embedding, i), at(want.embedding, i), 1e-4f);
}

TEST(Folder, HasTheRowsOfQAndKInPairs) {
  const hugging_face::model m = hugging_face::random_model(small, 2);
  const checkpoint got = read(m);
  const auto& q = m.tensors.at("model.layers.1.self_attn.q_proj.weight").values;
  const auto& k = m.tensors.at("model.layers.1.self_attn.k_proj.weight").values;
  const auto& v = m.tensors.at("model.layers.1.self_attn.v_proj.weight").values;
  const auto row = [&](std::size_t r) { return at(got.layers[1].qkv, r * 16 + 5); };
  EXPECT_EQ(row(0), q[0 * 16 + 5]);
  EXPECT_EQ(row(1), q[32 * 16 + 5]);
  EXPECT_EQ(row(64 + 6), q[(64 + 3) * 16 + 5]);
  EXPECT_EQ(row(128 + 7), k[(32 + 3) * 16 + 5]);
  EXPECT_EQ(row(192 + 7), v[7 * 16 + 5]);
}

TEST(Folder, MayBeInParts) {
  const hugging_face::model m = hugging_face::random_model(small, 3);
  const auto first = [](const std::string& name) { return name < "model.layers.1"; };
  const auto folder = std::filesystem::temp_directory_path() / ("llama_model_test." + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const auto write = [&](const char* name, const std::vector<std::byte>& bytes) {
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  };
  write("config.json", bytes_of(m.settings.dump()));
  EXPECT_NE(error_of([&] { read_folder(folder); }).find("model.safetensors: cannot be read"), std::string::npos);
  write("a.safetensors", file_of(m, "BF16", first));
  write("b.safetensors", file_of(m, "BF16", [&](const std::string& name) { return !first(name); }));
  write("model.safetensors.index.json", bytes_of(R"({"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}})"));
  EXPECT_EQ(read_folder(folder).layers[1].down, read(m).layers[1].down);
  write("model.safetensors.index.json", bytes_of(R"({"weight_map": {"x": "../a.safetensors"}})"));
  EXPECT_NE(error_of([&] { read_folder(folder); }).find("not the name of a file"), std::string::npos);
  write("model.safetensors.index.json", bytes_of(R"({"weight_map": {"x": "a.safetensors"}})"));
  EXPECT_NE(error_of([&] { read_folder(folder); }).find("is missing"), std::string::npos);
  std::filesystem::remove_all(folder);
  EXPECT_NE(error_of([&] { read_folder(folder); }).find("is not a folder"), std::string::npos);
}

TEST(Folder, SaysWhatIsNotSupported) {
  const hugging_face::model good = hugging_face::random_model(small, 4);
  const auto with = [&](const char* key, const nlohmann::json& value) {
    hugging_face::model m = good;
    m.settings[key] = value;
    return error_of([&] { read(m); });
  };
  const std::vector<std::tuple<const char*, nlohmann::json, const char*>> cases{
      {"model_type", "mistral", "model_type = mistral"},
      {"hidden_act", "gelu", "hidden_act = gelu"},
      {"rms_norm_eps", 1e-6, "lab 10 adds 1e-5"},
      {"attention_bias", true, "no bias"},
      {"mlp_bias", true, "no bias"},
      {"tie_word_embeddings", false, "separate weights"},
      {"tie_word_embeddings", nullptr, "separate weights"},
      {"quantization_config", {{"bits", 4}}, "quantized"},
      {"head_dim", 80, "supports 64 and 128"},
      {"num_key_value_heads", 0, "cannot have 0 K/V heads"},
      {"num_attention_heads", 3, "3 heads share 1"},
      {"num_hidden_layers", -5, "cannot have -1 layers"},
      {"num_hidden_layers", "two", "no whole number"},
      {"num_hidden_layers", 3, "model.layers.2.input_layernorm.weight is missing"},
      {"num_hidden_layers", 1, "is not part of the Llama"},
      {"hidden_size", 24, "should have (11, 24)"},
      {"intermediate_size", 20, "multiples of 8"},
      {"vocab_size", 1 << 20, "should have (1048576, 16)"},
      {"rope_scaling", {{"rope_type", "yarn"}, {"factor", 2}}, "\"yarn\""},
      {"rope_scaling", 7, "is not an object"},
      {"rope_scaling", {{"rope_type", "llama3"}}, "no number \"factor\""},
      {"rope_theta", 0, "rope_theta is 0"},
      {"eos_token_id", "end", "is not a token"},
  };
  for (const auto& [key, value, words] : cases)
    EXPECT_NE(with(key, value).find(words), std::string::npos) << key << " " << value << ": " << with(key, value);
  EXPECT_EQ(with("eos_token_id", {3, 5}), "");

  hugging_face::model m = good;
  m.tensors["model.layers.0.self_attn.q_proj.bias"] = {{128}, std::vector<float>(128)};
  EXPECT_NE(error_of([&] { read(m); }).find("q_proj.bias is not part"), std::string::npos);
  m = good;
  m.tensors["model.norm.weight"].values[3] = INFINITY;
  EXPECT_NE(error_of([&] { read(m); }).find("number 3 of tensor model.norm.weight is inf"), std::string::npos);
  m.tensors["model.norm.weight"].values[3] = 3.4e38f;
  EXPECT_NE(error_of([&] { read(m, "F32"); }).find("not finite in bf16"), std::string::npos);
  EXPECT_NE(error_of([] { checkpoint_from("[]", {}, "m"); }).find("not a JSON object"), std::string::npos);
}

TEST(Folder, ScalesAnglesAsLlama3Does) {
  hugging_face::model m = hugging_face::random_model(small, 5);
  m.settings["rope_theta"] = 500000.0;
  m.settings["rope_scaling"] = {{"rope_type", "llama3"},
                                {"factor", 32.0},
                                {"low_freq_factor", 1.0},
                                {"high_freq_factor", 4.0},
                                {"original_max_position_embeddings", 8192}};
  const std::vector<double> f = read(m).frequencies;
  ASSERT_EQ(f.size(), 32u);
  EXPECT_DOUBLE_EQ(f[0], 1.0);
  EXPECT_DOUBLE_EQ(f[31], std::pow(500000.0, -62.0 / 64) / 32) << "slower than one turn in 8,192 tokens";
  // Pair 16 turns 8192 / (2 pi sqrt(500000)) = 1.844 times: a share of 0.844 / 3 is unchanged.
  const double before = std::pow(500000.0, -0.5), share = (8192 * before / (2 * 3.14159265358979) - 1) / 3;
  EXPECT_NEAR(share, 0.2813, 1e-4);
  EXPECT_NEAR(f[16], before * (share + (1 - share) / 32), 1e-15);
  // The same in the newer form.
  nlohmann::json newer = m.settings["rope_scaling"];
  newer["rope_theta"] = 500000.0;
  m.settings["rope_scaling"] = nullptr;
  m.settings["rope_theta"] = nullptr;
  m.settings["rope_parameters"] = newer;
  EXPECT_EQ(read(m).frequencies, f);
}

TEST(Config, HasNames) {
  EXPECT_EQ(config_named("1b").vocabulary, 128256);
  EXPECT_EQ(config_named("2:16:2:1:64:24:11:32"), small);
  for (const char* bad : {"", "1c", "2:16:2:1:64:24:11", "2:16:2:1:64:24:11:32:1", "2:16:2:1:64:24:11:x",
                          "2:16:3:2:64:24:11:32", "1:99999999999:1:1:64:8:2:2", "1:1048576:1:1:64:8:1048576:2"})
    EXPECT_NE(error_of([&] { config_named(bad); }), "") << bad;
}

/// Any bytes give a model or a model_error, never a crash or more memory than the file could fill.
TEST(Folder, IsReadOrRefusedWhateverTheBytes) {
  const hugging_face::model m = hugging_face::random_model(small, 6);
  const std::vector<std::byte> good = file_of(m, "BF16");
  const std::string settings = m.settings.dump();
  std::mt19937 random(20'261'123);  // NOLINT(cert-msc51-cpp): the same in each run
  int whole = 0, refused = 0;
  const char* const pieces[] = {"-1", "0", "99999999999999999999", "1e999", "null", "[]", "{}", "\"x\"", "true", "8"};
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<std::byte> bad = good;
    std::string text = settings;
    if (trial % 3 == 0) {  // replaces a number in config.json
      const std::size_t colon = text.find(':', random() % text.size()), end = text.find_first_of(",}", colon);
      if (colon != std::string::npos && end != std::string::npos)
        text.replace(colon + 1, end - colon - 1, pieces[random() % std::size(pieces)]);
    } else if (trial % 3 == 1) {  // replaces a number in the list of tensors
      std::uint64_t length;
      std::memcpy(&length, bad.data(), 8);
      std::string index(reinterpret_cast<const char*>(bad.data()) + 8, length);
      const std::size_t colon = index.find(':', random() % index.size()), end = index.find_first_of(",}]", colon);
      if (colon != std::string::npos && end != std::string::npos)
        index.replace(colon + 1, end - colon - 1, pieces[random() % std::size(pieces)]);
      length = index.size();
      std::string file(reinterpret_cast<const char*>(&length), 8);
      std::vector<std::byte> changed = bytes_of(file + index);
      changed.insert(changed.end(), good.begin() + static_cast<std::ptrdiff_t>(8 + length), good.end());
      bad = changed;
    } else {
      const std::size_t head = std::min<std::size_t>(bad.size(), trial % 2 ? 16 : 4096);
      for (unsigned k = 0; k < 1 + random() % 4; ++k) bad[random() % head] = static_cast<std::byte>(random());
      if (random() % 4 == 0) bad.resize(random() % bad.size());
      for (unsigned k = 0; k < random() % 3; ++k) text[random() % text.size()] = static_cast<char>(random());
    }
    try {
      const checkpoint read = checkpoint_from(text, {{"model.safetensors", bad}}, "m");
      EXPECT_EQ(read.layers.size(), static_cast<std::size_t>(read.config.layers));
      ++whole;
    } catch (const model_error&) {
      ++refused;
    }
  }
  EXPECT_GT(whole, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
