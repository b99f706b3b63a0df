// A Llama, computed by lab 10's files: writes text, or times or profiles one token.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "decoders.hpp"
#include "lab/profiler.hpp"

namespace {

using namespace llama;

struct options {
#ifdef LLAMA_ON_GPU
  std::string pass = "parts";
#else
  std::string pass = "cpu";
#endif
  std::string checkpoint, random, prompt, tokenizer;
  std::vector<int> tokens;
  int position = 63, generate = 64, repeat = 3;
  gpt2::sampling how;
  std::uint64_t seed = 1;
};

std::unique_ptr<decoder> make(const options& o, const checkpoint& model, int capacity) {
  return o.pass == "cpu" ? make_on_cpu(model, capacity) : make_on_device(model, capacity, o.pass == "parts");
}

void time_a_token(const options& o, const checkpoint& model) {
  if (o.position < 0 || o.position >= model.config.context)
    throw model_error(
        fmt::format("--position {} is not within the model's context of {} tokens", o.position, model.config.context));
  const auto with = make(o, model, o.position + 1);
  with->fill_cache();
  with->load(0, o.position);
  with->run();
  (void)with->logits();  // throws if there are none
  if (std::getenv("LAB_PROFILE")) {
    lab::profile p;
    p.run("token", [&] { with->run(); });
    p.report();
    return;
  }
  double fastest = INFINITY, bytes = 0;
  for (int i = 0; i < o.repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    with->run();
    with->synchronize();
    fastest = std::min(fastest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  for (const step s :
       {step::embedding, step::qkv, step::append, step::attention, step::out, step::gate_up, step::down, step::logits})
    bytes += work_of(s, model.config, o.position).bytes *
             (s == step::embedding || s == step::logits ? 1 : model.config.layers);
  fmt::print("a token at position {}: {:.3f} ms, {:.2f} GB/s of weights and cache (fastest of {})\n", o.position,
             1e3 * fastest, 1e-9 * bytes / fastest, o.repeat);
}

void write_text(const options& o, const checkpoint& model, const std::filesystem::path& folder) {
  std::optional<gpt2::tokenizer> words;
  // The course's own two small models use the same tokens.
  if (!o.tokenizer.empty() || !o.prompt.empty())
    words.emplace(!o.tokenizer.empty()   ? std::filesystem::path(o.tokenizer)
                  : folder == TINY_LLAMA ? TINY_GPT2
                                         : folder);
  const std::vector<int> tokens = o.prompt.empty() ? o.tokens : words->encode(o.prompt);
  if (tokens.empty()) throw model_error("no token to start from; give --prompt or --tokens");
  const auto length = static_cast<std::int64_t>(tokens.size()) + o.generate;
  if (length > model.config.context)
    throw model_error(fmt::format("{} tokens plus {} new ones exceed the model's context, {}; ask for fewer",
                                  tokens.size(), o.generate, model.config.context));
  const auto show = [&](int token) {
    if (words)
      fmt::print("{}", words->decode(std::span(&token, 1)));
    else
      fmt::print("{} ", token);
    std::fflush(stdout);
  };
  const auto ends = [&](int token) {
    return std::find(model.ends.begin(), model.ends.end(), token) != model.ends.end();
  };
  const auto with = make(o, model, static_cast<int>(length));
  for (const int t : tokens) show(t);
  int position = 0;
  for (; position + 1 < static_cast<int>(tokens.size()); ++position) {
    with->load(tokens[static_cast<std::size_t>(position)], position);
    with->run();
  }
  int token = tokens.back();
  if (o.pass == "token" && o.how.temperature <= 0) {  // the whole text with one graph
    for (const int t : with->write(token, position, o.generate)) {
      if (ends(t)) break;
      show(t);
    }
  } else {
    std::uint64_t state = o.how.seed;
    for (int i = 0; i < o.generate; ++i) {
      with->load(token, position + i);
      with->run();
      if (ends(token = gpt2::choose(with->logits(), o.how, state))) break;
      show(token);
    }
  }
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) try {
  options o;
  CLI::App app{"A Llama, computed by lab 10's files: writes text, or times one token."};
  app.option_defaults()->always_capture_default();
  app.add_option(
         "--pass", o.pass,
         "cpu (matvec_host), parts (the functions of decode.cu, a range for each), token (decode_token, generate)")
      ->check(CLI::IsMember({"cpu", "parts", "token"}));
  app.add_option("--checkpoint", o.checkpoint,
                 "folder of a Llama as Hugging Face keeps it; without it, the course's own small model");
  app.add_option("--random", o.random,
                 "random weights instead: 1b (Llama 3.2 1B), tiny, or "
                 "layers:width:heads:kv_heads:size:hidden:vocabulary:context");
  app.add_option("--position", o.position, "where the timed token is: the cache holds this many tokens");
  app.add_option("--repeat", o.repeat, "timed tokens");
  app.add_option("--prompt", o.prompt, "text to start from");
  app.add_option("--tokens", o.tokens, "token numbers to start from: 1,2,3")->delimiter(',');
  app.add_option("--tokenizer", o.tokenizer,
                 "folder with vocab.json and merges.txt; by default that of the checkpoint");
  app.add_option("--generate", o.generate, "number of tokens to generate")->check(CLI::Range(0, 1 << 20));
  app.add_option("--temperature", o.how.temperature, "sampling temperature; 0: always the likeliest token");
  app.add_option("--top", o.how.top, "sample from this many likeliest tokens; 0: from all");
  app.add_option("--seed", o.seed, "seed of random weights and choices");
  CLI11_PARSE(app, argc, argv);
  o.how.seed = o.seed;
  const std::filesystem::path folder = o.checkpoint.empty() ? TINY_LLAMA : o.checkpoint;
  const checkpoint model = o.random.empty() ? read_folder(folder) : random_checkpoint(config_named(o.random), o.seed);
  if (o.prompt.empty() && o.tokens.empty())
    time_a_token(o, model);
  else
    write_text(o, model, folder);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "llama: {}\n", error.what());
  return 1;
}
