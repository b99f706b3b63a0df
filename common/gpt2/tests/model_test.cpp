// Configurations, checkpoints, LLM-Eigen and products on the CPU, tokens and text.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "gpt2/text.hpp"

extern "C" void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*,
                       const int*, const float*, const int*, const float*, float*, const int*);
extern "C" void sgemv_(const char*, const int*, const int*, const float*, const float*, const int*, const float*,
                       const int*, const float*, float*, const int*);

namespace {

using namespace gpt2;

std::string error_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const model_error& error) {
    return error.what();
  }
  return "";
}

std::vector<std::byte> file_of(const checkpoint& model, stored_as form) {
  const auto path = std::filesystem::temp_directory_path() / ("gpt2_model_test." + std::to_string(getpid()));
  write_checkpoint(path, model, form);
  std::ifstream in(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  std::filesystem::remove(path);
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// A file in Hugging Face's form: its names and shapes, with Conv1D's matrices transposed.
std::vector<std::byte> safetensors_of(const checkpoint& model, const std::string& prefix) {
  const config& c = model.config;
  nlohmann::json index{{"__metadata__", {{"format", "pt"}}}};
  std::vector<float> data;
  const auto add = [&](const std::string& name, std::vector<std::size_t> shape, const float* from, bool transposed) {
    const std::size_t begin = data.size() * 4, rows = shape[0], columns = shape.size() > 1 ? shape[1] : 1;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t k = 0; k < columns; ++k) data.push_back(transposed ? from[k * rows + r] : from[r * columns + k]);
    index[prefix + name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, data.size() * 4}}};
  };
  const auto n = static_cast<std::size_t>(c.channels);
  add("wte.weight", {static_cast<std::size_t>(c.vocabulary), n}, model.at(tensor::token_embedding), false);
  add("wpe.weight", {static_cast<std::size_t>(c.context), n}, model.at(tensor::position_embedding), false);
  for (int l = 0; l < c.layers; ++l) {
    const std::string h = "h." + std::to_string(l) + ".";
    add(h + "ln_1.weight", {n}, model.at(tensor::norm1_weight, l), false);
    add(h + "ln_1.bias", {n}, model.at(tensor::norm1_bias, l), false);
    add(h + "attn.c_attn.weight", {n, 3 * n}, model.at(tensor::qkv_weight, l), true);
    add(h + "attn.c_attn.bias", {3 * n}, model.at(tensor::qkv_bias, l), false);
    add(h + "attn.c_proj.weight", {n, n}, model.at(tensor::projection_weight, l), true);
    add(h + "attn.c_proj.bias", {n}, model.at(tensor::projection_bias, l), false);
    add(h + "ln_2.weight", {n}, model.at(tensor::norm2_weight, l), false);
    add(h + "ln_2.bias", {n}, model.at(tensor::norm2_bias, l), false);
    add(h + "mlp.c_fc.weight", {n, 4 * n}, model.at(tensor::expand_weight, l), true);
    add(h + "mlp.c_fc.bias", {4 * n}, model.at(tensor::expand_bias, l), false);
    add(h + "mlp.c_proj.weight", {4 * n, n}, model.at(tensor::contract_weight, l), true);
    add(h + "mlp.c_proj.bias", {n}, model.at(tensor::contract_bias, l), false);
  }
  add("ln_f.weight", {n}, model.at(tensor::final_norm_weight), false);
  add("ln_f.bias", {n}, model.at(tensor::final_norm_bias), false);
  const std::string text = index.dump();
  const std::uint64_t length = text.size();
  std::vector<std::byte> file(8 + text.size() + 4 * data.size());
  std::memcpy(file.data(), &length, 8);
  std::memcpy(file.data() + 8, text.data(), text.size());
  std::memcpy(file.data() + 8 + text.size(), data.data(), 4 * data.size());
  return file;
}

const config small{.context = 9, .vocabulary = 7, .padded_vocabulary = 128, .layers = 2, .heads = 3, .channels = 12};

TEST(Model, HasGpt2sSizes) {
  EXPECT_EQ(parameters(config_named("d12")), 124'475'904u) << "llm.c's count, with the padded vocabulary";
  EXPECT_EQ(config_named("9:7:128:2:3:12"), small);
  EXPECT_NE(error_of([] { config_named("d13"); }).find("use d12"), std::string::npos);
  EXPECT_NE(error_of([] { config_named("9:7:128:2:5:12"); }).find("5 heads"), std::string::npos);
  EXPECT_NE(error_of([] { config_named("9:7:6:2:3:12"); }).find("padded"), std::string::npos);
}

TEST(Checkpoint, SurvivesItsFile) {
  const checkpoint model = random_checkpoint(small, 3);
  const checkpoint read = checkpoint_from(file_of(model, stored_as::fp32), "f");
  EXPECT_EQ(read.config, model.config);
  EXPECT_EQ(read.weights, model.weights);
  const checkpoint rounded = checkpoint_from(file_of(model, stored_as::bf16), "f");
  ASSERT_EQ(rounded.weights.size(), model.weights.size());
  for (std::size_t i = 0; i < model.weights.size(); ++i)
    ASSERT_LE(std::abs(rounded.weights[i] - model.weights[i]), std::abs(model.weights[i]) / 256) << i;
}

TEST(Checkpoint, IsReadFromSafetensors) {
  const checkpoint model = random_checkpoint(small, 3);
  for (const char* prefix : {"", "transformer."}) {
    const checkpoint read = checkpoint_from(safetensors_of(model, prefix), "f", R"({"n_head": 3})");
    EXPECT_EQ(read.config, model.config);
    // Such files do not contain the padding of the vocabulary.
    const auto used = [](const checkpoint& c) {
      std::vector<float> w(c.weights.begin(), c.weights.begin() + c.config.vocabulary * c.config.channels);
      w.insert(w.end(), c.at(tensor::position_embedding), c.weights.data() + c.weights.size());
      return w;
    };
    EXPECT_EQ(used(read), used(model));
  }
  const auto without = [&](const std::string& json) {
    return error_of([&] { checkpoint_from(safetensors_of(model, ""), "f", json); });
  };
  EXPECT_NE(without("").find("config.json"), std::string::npos) << "12 channels: how many heads?";
  EXPECT_NE(without("{}").find("n_head"), std::string::npos);
  EXPECT_NE(without(R"({"n_head": 5})").find("5 heads"), std::string::npos);
}

TEST(Checkpoint, SaysWhatIsWrong) {
  const std::vector<std::byte> good = file_of(random_checkpoint(small, 3), stored_as::fp32);
  const auto with = [&](std::size_t word, std::int32_t value) {
    std::vector<std::byte> bad = good;
    std::memcpy(bad.data() + 4 * word, &value, 4);
    return error_of([&] { checkpoint_from(bad, "f"); });
  };
  EXPECT_NE(error_of([] { read_checkpoint("/nowhere/gpt2.bin"); }).find("cannot be read"), std::string::npos);
  EXPECT_NE(error_of([] { checkpoint_from({}, "f"); }).find("empty"), std::string::npos);
  EXPECT_NE(error_of([&] { checkpoint_from(std::span(good).first(good.size() - 1), "f"); }).find("truncated"),
            std::string::npos);
  EXPECT_NE(error_of([&] { checkpoint_from(std::span(good).first(100), "f"); }).find("truncated"), std::string::npos);
  EXPECT_NE(with(0, 1).find("neither"), std::string::npos);
  EXPECT_NE(with(1, 4).find("version 4"), std::string::npos);
  EXPECT_NE(with(1, 5).find("too long"), std::string::npos);
  EXPECT_NE(with(4, 3).find("truncated"), std::string::npos);
  EXPECT_NE(with(4, -1).find("layers is -1"), std::string::npos);
  EXPECT_NE(with(5, 5).find("heads"), std::string::npos);
  EXPECT_NE(with(256 + 77, 0x7FC00000).find("weight 77 is not a finite number"), std::string::npos);
}

/// Any bytes give a model or a model_error, never a crash or more memory than the file could fill.
TEST(Checkpoint, IsReadOrRefusedWhateverTheBytes) {
  const checkpoint model = random_checkpoint(small, 3);
  std::mt19937 random(20'261'121);  // NOLINT(cert-msc51-cpp): the same in each run
  int read = 0, refused = 0;
  for (const std::vector<std::byte>& good :
       {file_of(model, stored_as::fp32), file_of(model, stored_as::bf16), safetensors_of(model, "")}) {
    for (int trial = 0; trial < 700; ++trial) {
      std::vector<std::byte> bad = good;
      const std::size_t head = std::min<std::size_t>(bad.size(), trial % 2 ? 64 : 4096);
      for (unsigned k = 0; k < 1 + random() % 4; ++k) bad[random() % head] = static_cast<std::byte>(random());
      if (random() % 4 == 0) bad.resize(random() % bad.size());
      if (random() % 8 == 0) bad.insert(bad.end(), random() % 64, std::byte{7});
      try {
        const checkpoint got = checkpoint_from(bad, "f", R"({"n_head": 3})");
        EXPECT_EQ(got.weights.size(), parameters(got.config));
        ++read;
      } catch (const model_error& error) {
        EXPECT_GT(std::strlen(error.what()), 10u);
        ++refused;
      }
    }
  }
  EXPECT_GT(read, 50);
  EXPECT_GT(refused, 500);
}

std::vector<int> some_tokens(const config& of, int count) {
  std::vector<int> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back((i * 37 + 11) % of.vocabulary);
  return tokens;
}

TEST(EigenPass, IsEqualToTheReference) {
  for (const config& of : {small, config_named("tiny")}) {
    const checkpoint model = random_checkpoint(of, 5);
    const auto pass = make_eigen_on_cpu(model);
    for (const auto& [batch, length] : {std::pair{1, 1}, {2, 5}, {3, 9}}) {
      const std::vector<int> tokens = some_tokens(of, batch * length);
      const std::vector<double> want = reference_logits(model, tokens, batch, length);
      pass->forward(tokens, batch, length);
      const std::vector<float> got = pass->logits();
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(static_cast<double>(got[i]), want[i], 2e-6) << i;
      EXPECT_EQ(pass->logits_at(batch - 1, length - 1), std::vector<float>(got.end() - of.vocabulary, got.end()));
    }
    EXPECT_NE(error_of([&] {
                pass->forward(std::vector{0, of.vocabulary}, 1, 2);
              }).find("vocabulary"),
              std::string::npos);
  }
}

/// Element (row, column) of op(m). Matrices are column-major, with columns `stride` apart.
float element(const std::vector<float>& m, int stride, char operation, int row, int column) {
  return m[static_cast<std::size_t>(operation == 'N' ? row + column * stride : column + row * stride)];
}

std::vector<float> whole_numbers(int count, int seed) {
  std::vector<float> all(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = static_cast<float>((i * 37 + seed) % 11 - 5);
  return all;
}

TEST(Blas, MultipliesMatricesEitherWayRound) {
  constexpr int m = 21, n = 9, k = 34, stride = 40;
  const std::vector<float> a = whole_numbers(stride * stride, 1), b = whole_numbers(stride * stride, 2),
                           before = whole_numbers(stride * n, 3);
  for (const char of_a : {'N', 'T'})
    for (const char of_b : {'N', 'T'})
      for (const float beta : {0.0f, 1.0f, 3.0f}) {
        const float alpha = 2;
        std::vector<float> c = before;
        sgemm_(&of_a, &of_b, &m, &n, &k, &alpha, a.data(), &stride, b.data(), &stride, &beta, c.data(), &stride);
        for (int row = 0; row < stride; ++row)
          for (int column = 0; column < n; ++column) {
            float want = 0;
            for (int i = 0; i < k; ++i) want += element(a, stride, of_a, row, i) * element(b, stride, of_b, i, column);
            const float old = element(before, stride, 'N', row, column);
            EXPECT_EQ(element(c, stride, 'N', row, column), row < m ? alpha * want + beta * old : old);
          }
      }
}

TEST(Blas, MultipliesVectorsEitherWayRound) {
  constexpr int m = 21, n = 9, stride = 40, x_step = 2, y_step = 3;
  const std::vector<float> a = whole_numbers(stride * n, 1), x = whole_numbers(2 * m, 2),
                           before = whole_numbers(3 * m, 3);
  for (const char of_a : {'N', 'T'})
    for (const float beta : {0.0f, 1.0f, 3.0f}) {
      const float alpha = 2;
      const int rows = of_a == 'N' ? m : n, terms = of_a == 'N' ? n : m;
      std::vector<float> y = before;
      sgemv_(&of_a, &m, &n, &alpha, a.data(), &stride, x.data(), &x_step, &beta, y.data(), &y_step);
      for (int i = 0; i < 3 * m; ++i) {
        float want = 0;
        for (int j = 0; i % y_step == 0 && i < y_step * rows && j < terms; ++j)
          want += element(a, stride, of_a, i / y_step, j) * x[static_cast<std::size_t>(j * x_step)];
        const float old = before[static_cast<std::size_t>(i)];
        EXPECT_EQ(y[static_cast<std::size_t>(i)],
                  i % y_step == 0 && i < y_step * rows ? alpha * want + beta * old : old);
      }
    }
}

/// A pass that omits a weight gives another result.
TEST(EigenPass, UsesEveryWeight) {
  const checkpoint model = random_checkpoint(small, 5);
  const std::vector<int> tokens = some_tokens(small, 9);
  const auto pass = make_eigen_on_cpu(model);
  pass->forward(tokens, 1, 9);
  const std::vector<float> before = pass->logits();
  for (int which = 0; which < static_cast<int>(tensor::count); ++which) {
    checkpoint changed = model;
    changed.weights[offset_of(small, static_cast<tensor>(which)) + 5] += 0.5f;
    const auto other = make_eigen_on_cpu(changed);
    other->forward(tokens, 1, 9);
    // A bias shared by all keys changes no softmax, but element 5 belongs to the queries.
    EXPECT_NE(other->logits(), before) << which;
  }
}

// ---- text -----------------------------------------------------------------------------------------------------------

/// All bytes, and what GPT-2's first merges make: " t" (256), " a", "he", "in", "re", "on", " the", "er", ...
struct vocabulary {
  std::vector<std::pair<std::string, std::string>> merges{{" ", "t"}, {" ", "a"},  {"h", "e"},   {"i", "n"},
                                                          {"r", "e"}, {"o", "n"},  {" t", "he"}, {"e", "r"},
                                                          {"l", "l"}, {"he", "ll"}};
  std::vector<std::string> words;
  vocabulary() {
    for (int b = 0; b < 256; ++b) words.emplace_back(1, static_cast<char>(b));
    for (const auto& [left, right] : merges) words.push_back(left + right);
  }
  static std::string shown(const std::string& bytes) {
    std::string text;
    for (const char c : bytes) {
      const auto b = static_cast<unsigned char>(c);
      const auto seen = [](int v) { return (v >= '!' && v <= '~') || (v >= 0xA1 && v <= 0xAC) || v >= 0xAE; };
      int point = b;
      if (!seen(b)) {
        point = 256;
        for (int k = 0; k < b; ++k) point += !seen(k);
      }
      if (point < 0x80)
        text += static_cast<char>(point);
      else
        (text += static_cast<char>(0xC0 | point >> 6)) += static_cast<char>(0x80 | (point & 63));
    }
    return text;
  }
  std::string vocab_json() const {
    nlohmann::json json;
    for (std::size_t i = 0; i < words.size(); ++i) json[shown(words[i])] = i;
    json["<|endoftext|>"] = words.size();
    return json.dump();
  }
  std::string merges_txt() const {
    std::string text = "#version: 0.2\n";
    for (const auto& [left, right] : merges) text += shown(left) + " " + shown(right) + "\n";
    return text;
  }
  std::vector<std::byte> llmc() const {
    std::vector<std::uint32_t> header(256);
    header[0] = 20240328, header[1] = 2, header[2] = static_cast<std::uint32_t>(words.size() + 1);
    header[3] = static_cast<std::uint32_t>(words.size());
    std::string text(reinterpret_cast<const char*>(header.data()), 1024);
    for (const std::string& w : words) (text += static_cast<char>(w.size())) += w;
    text += '\x0d';
    text += "<|endoftext|>";
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  }
};

TEST(Tokenizer, SplitsAndJoinsAsGpt2Does) {
  const vocabulary v;
  for (const tokenizer& t :
       {tokenizer::from_vocabulary(v.vocab_json(), v.merges_txt(), "f"), tokenizer::from_llmc(v.llmc(), "f")}) {
    EXPECT_EQ(t.size(), 267);
    EXPECT_EQ(t.encode(" the hello"), (std::vector<int>{262, ' ', 265, 'o'}));
    EXPECT_EQ(t.encode("on  the"), (std::vector<int>{261, ' ', 262})) << "the second of two spaces belongs to the word";
    EXPECT_EQ(t.encode("he<|endoftext|>in"), (std::vector<int>{258, 266, 259}));
    EXPECT_EQ(t.encode("ll'll"), (std::vector<int>{264, '\'', 264})) << "'ll is a separate word";
    EXPECT_EQ(t.encode("i1n"), (std::vector<int>{'i', '1', 'n'})) << "a number is not a letter";
    for (const std::string text : {"", " ", "\n\n a \t b ", "naïve 東京 2026年, it's 3½ €!", "\xff\xfe broken \xc3"})
      EXPECT_EQ(t.decode(t.encode(text)), text);
    EXPECT_NE(error_of([&] { t.decode(std::vector{267}); }).find("not one of the tokenizer's"), std::string::npos);
  }
}

TEST(Tokenizer, SaysWhatIsWrong) {
  const vocabulary v;
  EXPECT_NE(error_of([] { tokenizer("/nowhere"); }).find("vocab.json"), std::string::npos);
  EXPECT_NE(error_of([&] { tokenizer::from_vocabulary("{", v.merges_txt(), "f"); }).find("JSON"), std::string::npos);
  EXPECT_NE(error_of([&] { tokenizer::from_vocabulary("{}", "", "f"); }).find("byte 0"), std::string::npos);
  EXPECT_NE(
      error_of([&] { tokenizer::from_vocabulary(v.vocab_json(), "x y\n", "f"); }).find("belong to the same model"),
      std::string::npos);
  const auto file = v.llmc();
  EXPECT_NE(error_of([&] { tokenizer::from_llmc(std::span(file).first(file.size() - 1), "f"); }).find("truncated"),
            std::string::npos);
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same in each run
  for (int trial = 0; trial < 500; ++trial) {
    auto bad = file;
    for (int k = 0; k < 3; ++k) bad[random() % (trial % 2 ? 16 : bad.size())] = static_cast<std::byte>(random());
    try {
      tokenizer::from_llmc(bad, "f");
    } catch (const model_error&) {
      continue;
    }
  }
}

TEST(Generate, TakesTheLikeliestOrDraws) {
  const checkpoint model = random_checkpoint(config_named("tiny"), 11);
  const auto pass = make_eigen_on_cpu(model);
  const std::vector<int> greedy = generate(*pass, model.config, {5, 6}, 8, {});
  ASSERT_EQ(greedy.size(), 10u);
  for (std::size_t n = 2; n < greedy.size(); ++n) {  // the float64 result, computed without later tokens
    const std::vector<int> before(greedy.begin(), greedy.begin() + static_cast<std::ptrdiff_t>(n));
    const auto all = reference_logits(model, before, 1, static_cast<int>(n));
    const auto last = all.end() - model.config.vocabulary;
    EXPECT_EQ(greedy[n], std::max_element(last, all.end()) - last);
  }
  const auto drawn = [&](sampling how) { return generate(*pass, model.config, {5, 6}, 20, how); };
  EXPECT_EQ(drawn({.temperature = 1, .seed = 3}), drawn({.temperature = 1, .seed = 3}));
  EXPECT_NE(drawn({.temperature = 1, .seed = 3}), drawn({.temperature = 1, .seed = 4}));
  EXPECT_EQ(drawn({.temperature = 1, .top = 1}), drawn({}));
  EXPECT_NE(error_of([&] { generate(*pass, model.config, {5}, 64, {}); }).find("context"), std::string::npos);
}

TEST(Generate, WritesWhatTransformersWrites) {
  const std::filesystem::path folder = TINY_GPT2;
  const checkpoint model = read_checkpoint(folder / "model.safetensors");
  const tokenizer words(folder);
  const auto pass = make_eigen_on_cpu(model);
  std::ifstream in(folder / "expected.json");
  const auto texts = nlohmann::json::parse(in);
  ASSERT_FALSE(texts.empty());
  for (const auto& text : texts) {
    std::vector<int> tokens = words.encode(text["prompt"]);
    EXPECT_EQ(tokens, text["prompt_tokens"].get<std::vector<int>>()) << text["prompt"];
    const auto made = text["tokens"].get<std::vector<int>>();
    tokens.insert(tokens.end(), made.begin(), made.end());
    const std::vector<int> prompt = text["prompt_tokens"];
    EXPECT_EQ(generate(*pass, model.config, prompt, static_cast<int>(made.size()), {}), tokens) << text["prompt"];
    EXPECT_EQ(words.decode(tokens), text["text"].get<std::string>());
  }
}

}  // namespace
