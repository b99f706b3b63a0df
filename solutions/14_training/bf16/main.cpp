// train.bf16.cuda: trains a GPT-2 in mixed precision on a GPU of compute capability 9.0, and times its steps.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "gpt2/text.hpp"
#include "network.hpp"

namespace {

using gpt2::model_error;
using namespace lab14::mixed;

struct options {
  std::string model = "small", text = TRAINING_TEXT, plans, start, record, gradients;
  int batch = 4, length = 64, steps = 40;
  bool twice = false, random_tokens = false;
  lab14::adamw_settings with{.weight_decay = 0.1f};
  std::uint64_t seed = 1;
};

std::string contents(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw model_error(file + ": cannot be read");
  return text.str();
}

/// Tokens and targets of all steps, consecutive in the text, which begins again when it ends.
struct data {
  data(const options& o, int vocabulary) {
    std::vector<int> text;
    if (o.random_tokens) {
      std::uint32_t state = 1;
      for (int i = 0; i < 100'003; ++i)
        text.push_back(static_cast<int>((state = state * 1664525u + 1013904223u) >> 8) % vocabulary);
    } else {
      text = gpt2::tokenizer(TINY_GPT2).encode(contents(o.text));
    }
    if (text.size() < 2) throw model_error(o.text + ": too short; a text has at least two tokens");
    std::size_t at = 0;
    for (int s = 0; s < o.steps; ++s) {
      tokens.emplace_back(), targets.emplace_back();
      for (int i = 0; i < o.batch * o.length; ++i) {
        tokens.back().push_back(text[at % text.size()]);
        targets.back().push_back(text[++at % text.size()]);
      }
    }
  }
  std::vector<std::vector<int>> tokens, targets;
};

struct result {
  std::vector<float> losses, weights;
};

/// Losses need a wait after each step, so only `timed` steps follow one another as in a real training.
result train(const options& o, const gpt2::checkpoint& start, const data& d, bool timed) {
  network net(start, o.batch, o.length, o.with, std::ifstream(o.plans) ? o.plans : "");
  result all;
  std::vector<lab::event> ends(static_cast<std::size_t>(o.steps));
  for (int i = 0; i < o.steps; ++i) {
    const auto s = static_cast<std::size_t>(i);
    net.step(d.tokens[s], d.targets[s]);
    ends[s].record(net.stream());
    if (i == 0 && !o.gradients.empty()) {
      const std::vector<float> g = net.gradients();
      std::ofstream out(o.gradients, std::ios::binary);
      out.write(reinterpret_cast<const char*>(g.data()), static_cast<std::streamsize>(g.size() * sizeof(float)));
      if (!out) throw model_error(o.gradients + ": cannot be written");
    }
    if (timed) continue;
    all.losses.push_back(net.mean_loss());
    if (std::isnan(all.losses.back())) throw model_error("the loss is not a number");
    fmt::print("step {:3}  loss {:.6f}\n", i + 1, all.losses.back());
  }
  if (timed && o.steps > 5) {
    fmt::print("loss after the last step {:.6f}\n", net.mean_loss());
    std::vector<double> ms;
    for (std::size_t i = 3; i < ends.size(); ++i) ms.push_back(1e3 * ends[i].seconds_since(ends[i - 1]));
    std::sort(ms.begin(), ms.end());
    fmt::print("{:.4f} ms a step, median of {}; 10 to 90 %: {:.4f} to {:.4f}\n", ms[ms.size() / 2], ms.size(),
               ms[ms.size() / 10], ms[ms.size() * 9 / 10]);
  }
  if (!o.plans.empty()) net.write_plans(o.plans);
  all.weights = net.weights();
  return all;
}

void write_record(const options& o, const gpt2::config& c, const data& d, const std::vector<float>& losses) {
  std::vector<int> tokens, targets;
  for (const auto& one : d.tokens) tokens.insert(tokens.end(), one.begin(), one.end());
  for (const auto& one : d.targets) targets.insert(targets.end(), one.begin(), one.end());
  const nlohmann::json all{{"context", c.context},
                           {"vocabulary", c.vocabulary},
                           {"padded_vocabulary", c.padded_vocabulary},
                           {"layers", c.layers},
                           {"heads", c.heads},
                           {"channels", c.channels},
                           {"batch", o.batch},
                           {"length", o.length},
                           {"steps", o.steps},
                           {"learning_rate", o.with.learning_rate},
                           {"beta1", o.with.beta1},
                           {"beta2", o.with.beta2},
                           {"epsilon", o.with.epsilon},
                           {"weight_decay", o.with.weight_decay},
                           {"tokens", tokens},
                           {"targets", targets},
                           {"losses", losses}};
  std::ofstream out(o.record);
  out << all << "\n";
  if (!out) throw model_error(o.record + ": cannot be written; does its folder exist?");
}

}  // namespace

int main(int argc, char** argv) try {
  options o;
  bool timed = false;
  CLI::App app{"Trains a GPT-2 in bf16, with master weights in FP32."};
  app.option_defaults()->always_capture_default();
  app.add_option("--model", o.model,
                 "random weights: small (4 layers of 64 channels, 512 tokens), d12 (GPT-2 124M), or six numbers "
                 "context:vocabulary:padded:layers:heads:channels");
  app.add_option("--text", o.text, "what to learn; split by the tokenizer of common/gpt2/tiny");
  app.add_flag("--random-tokens", o.random_tokens, "learn random tokens instead");
  app.add_option("--batch", o.batch, "sequences in a step");
  app.add_option("--time,--length", o.length, "tokens in each sequence");
  app.add_option("--steps", o.steps, "number of steps")->check(CLI::Range(1, 1'000'000));
  app.add_flag("--bench", timed, "print the time of a step instead of the losses");
  app.add_flag("--twice", o.twice, "train twice and compare the bits of losses and weights");
  app.add_option("--plans", o.plans,
                 "cublasLt's algorithms: read from this file, or written to it if it does not exist");
  app.add_option("--write", o.start, "write the weights before the first step as an llm.c checkpoint");
  app.add_option("--record", o.record, "write settings, tokens and losses as JSON");
  app.add_option("--gradients", o.gradients,
                 "write the first step's gradients as floats, in the order of gpt2::tensor");
  app.add_option("--learning-rate", o.with.learning_rate, "AdamW's");
  app.add_option("--weight-decay", o.with.weight_decay, "AdamW's, for matrices");
  app.add_option("--seed", o.seed, "seed of random weights");
  CLI11_PARSE(app, argc, argv);
  const gpt2::checkpoint start =
      gpt2::random_checkpoint(gpt2::config_named(o.model == "small" ? "256:512:512:4:1:64" : o.model), o.seed);
  if (!o.start.empty()) gpt2::write_checkpoint(o.start, start);
  const data d(o, start.config.vocabulary);
  if (o.twice && o.plans.empty()) throw model_error("--twice needs --plans: other algorithms give other bits");
  const result first = train(o, start, d, timed);
  if (!o.record.empty()) write_record(o, start.config, d, first.losses);
  if (o.twice) {
    const result second = train(o, start, d, timed);
    const bool same =
        first.losses == second.losses && first.weights.size() == second.weights.size() &&
        std::memcmp(first.weights.data(), second.weights.data(), first.weights.size() * sizeof(float)) == 0;
    fmt::print("two trainings: {}\n", same ? "equal bits" : "other bits");
    if (!same) return 1;
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "train.bf16: {}\n", error.what());
  return 1;
}
