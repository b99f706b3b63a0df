// Lab 10's files compute a Llama, on the device that this program is built for. Logits are compared with float64, text
// with what another program writes with the same weights (expected.json, by solutions/10_decode/train_tiny.py).
#include <gtest/gtest.h>
#include <lab/compare.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "../../../common/llama/tests/hugging_face.hpp"
#include "decoders.hpp"

namespace {

using namespace llama;
using lab::largest_error;

const char* const passes[] = {"cpu", "parts", "token"};

std::unique_ptr<decoder> make(const std::string& pass, const checkpoint& model, int capacity) {
  return pass == "cpu" ? make_on_cpu(model, capacity) : make_on_device(model, capacity, pass == "parts");
}

/// Logits here have size 1 to 10. A number in the cache halfway between two bf16 may be rounded to either, which
/// changes logits by a thousandth; a wrong angle, pair or head changes them by 1 or more.
constexpr double allowed = 0.01;

TEST(Logits, AreThoseOfHuggingFacesConventions) {
  for (const config& c : {config{2, 64, 4, 2, 64, 96, 101, 64}, config{1, 48, 8, 1, 128, 40, 33, 64},
                          config{3, 32, 4, 1, 64, 24, 40, 64}}) {
    const hugging_face::model m = hugging_face::random_model(c, 7);
    const auto file = hugging_face::file_of(m, "BF16");
    const checkpoint model = checkpoint_from(m.settings.dump(), {{"model.safetensors", file}}, "m");
    std::vector<int> tokens;
    for (int i = 0; i < 4; ++i) tokens.push_back((37 * i + 11) % c.vocabulary);
    const auto want = hugging_face::logits_of(m, tokens, [&](int i) { return std::pow(10000.0, -2.0 * i / c.size); });
    for (const char* pass : passes) {
      const auto with = make(pass, model, 16);
      for (int i = 0; i < 4; ++i) {
        with->load(tokens[static_cast<std::size_t>(i)], i);
        with->run();
        EXPECT_LE(largest_error(with->logits(), want[static_cast<std::size_t>(i)]), allowed)
            << pass << ", token " << i << ", " << c.heads << " heads of " << c.size;
      }
    }
  }
}

TEST(Tiny, WritesWhatAProgramOfOthersWrites) {
  const checkpoint model = read_folder(TINY_LLAMA);
  const gpt2::tokenizer words{std::filesystem::path(TINY_GPT2)};
  std::ifstream in(std::filesystem::path(TINY_LLAMA) / "expected.json");
#if __has_include(<sim/api.h>)
  constexpr int on_device = 2;
#else
  constexpr int on_device = 48;
#endif
  int texts = 0;
  for (const auto& text : nlohmann::json::parse(in)) {
    const auto prompt = text["prompt_tokens"].get<std::vector<int>>();
    EXPECT_EQ(words.encode(text["prompt"]), prompt);
    for (const std::string pass : passes) {
#if __has_include(<sim/api.h>)
      if (pass == "parts" || (pass == "token" && texts > 0)) continue;  // it would take a second for each token
#endif
      const auto with = make(pass, model, 128);
      const int last = static_cast<int>(prompt.size()) - 1;
      for (int i = 0; i <= last; ++i) {
        with->load(prompt[static_cast<std::size_t>(i)], i);
        with->run();
      }
      EXPECT_LE(largest_error(with->logits(), text["logits"].get<std::vector<double>>()), allowed) << pass;
      auto want = text["tokens"].get<std::vector<int>>();
      if (pass != "cpu") want.resize(on_device);
      EXPECT_EQ(with->write(prompt.back(), last, static_cast<int>(want.size())), want) << pass << ": " << text["text"];
    }
    ++texts;
  }
  EXPECT_EQ(texts, 4);
}

TEST(Decoders, RefuseWhatDoesNotFit) {
  const checkpoint model = random_checkpoint(config_named("tiny"), 1);
  for (const char* pass : passes) {
    const auto with = make(pass, model, 8);
    EXPECT_THROW(with->load(101, 0), model_error);
    EXPECT_THROW(with->load(-1, 0), model_error);
    EXPECT_THROW(with->load(0, 8), model_error);
    EXPECT_THROW(with->write(0, 6, 3), model_error);
  }
}

}  // namespace
