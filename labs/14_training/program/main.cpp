// train: trains a GPT-2 with lab 14's files on a text, and shows each step's loss, then the time of each block of a
// step. Under ./course profile, it then profiles one more step.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>

#include "gpt2/text.hpp"
#include "lab/profiler.hpp"
#include "network.hpp"

namespace {

#ifdef TRAIN_ON_SIM
constexpr bool simulated = true;
#else
constexpr bool simulated = false;
#endif

using gpt2::model_error;
using lab14::gpt2_network;

struct options {
  std::string model = "small", checkpoint, text = TRAINING_TEXT, precision = "fp32", start, save, record, expect;
  int batch = 4, length = 64, steps = 40, micro_batches = 1, keep = -1;
  double budget = 0;  ///< MB of activations; 0: `keep` decides
  lab14::adamw_settings with{.weight_decay = 0.1f};
  std::uint64_t seed = 1;
};

/// Device time of the ranges of a step, by phase and block. A range's time is that between its first and last call.
class block_times final : public sim::range_listener {
 public:
  explicit block_times(const lab::stream& stream) : stream_(stream) { current = this; }
  ~block_times() { current = nullptr; }

  void enter(std::string_view name, double, double) override {
    path_.push_back(path_.empty() ? std::string(name) : path_.back() + ": " + std::string(name));
    open_.push_back(&spans_.emplace_back(path_.back()));
    open_.back()->start.record(stream_);
  }
  void leave() override {
    open_.back()->stop.record(stream_);
    open_.pop_back();
    path_.pop_back();
  }
  /// Seconds since the last call, in the order in which ranges began.
  std::vector<std::pair<std::string, double>> take() {
    std::vector<std::pair<std::string, double>> all;
    for (const span& s : spans_) {
      auto found = std::find_if(all.begin(), all.end(), [&](const auto& a) { return a.first == s.path; });
      if (found == all.end()) found = all.insert(all.end(), {s.path, 0});
      found->second += s.stop.seconds_since(s.start);
    }
    spans_.clear();
    return all;
  }

 private:
  struct span {
    explicit span(std::string of) : path(std::move(of)) {}
    std::string path;
    mutable lab::event start, stop;
  };
  const lab::stream& stream_;
  std::deque<span> spans_;
  std::vector<span*> open_;
  std::vector<std::string> path_;
};

std::string contents(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw model_error(file + ": cannot be read");
  return text.str();
}

gpt2::checkpoint start_of(const options& o) {
  if (!o.checkpoint.empty()) return gpt2::read_checkpoint(o.checkpoint);
  return gpt2::random_checkpoint(gpt2::config_named(o.model == "small" ? "256:512:512:4:1:64" : o.model), o.seed);
}

class training {
 public:
  explicit training(const options& o)
      : options_(o),
        start_(start_of(o)),
        text_(gpt2::tokenizer(TINY_GPT2).encode(contents(o.text))),
        net_(start_, batch_of(o), o.length, o.with,
             o.precision == "tf32" ? gpt2::precision::tf32 : gpt2::precision::fp32),
        keep_(static_cast<std::size_t>(start_.config.layers)) {
    if (text_.size() < 2) throw model_error(o.text + ": too short; a text has at least two tokens");
    if (!o.start.empty()) gpt2::write_checkpoint(o.start, start_);
    const int layers = start_.config.layers;
    if (o.budget > 0)
      lab14::choose_layers(keep_.data(), layers, net_.inner_bytes(), net_.residual_bytes(),
                           static_cast<std::int64_t>(1e6 * o.budget));
    else
      std::fill_n(keep_.rbegin(), o.keep < 0 ? layers : std::min(o.keep, layers), std::uint8_t{1});
  }

  /// Loads the next tokens of the text, which begins again when it ends; each target is the token that follows.
  void load() {
    std::vector<gpt2_network::part> all(static_cast<std::size_t>(options_.micro_batches));
    for (auto& m : all)
      for (int i = 0; i < batch_of(options_) * options_.length; ++i) {
        m.tokens.push_back(text_[at_ % text_.size()]);
        m.targets.push_back(text_[++at_ % text_.size()]);
        tokens_.push_back(m.tokens.back());
        targets_.push_back(m.targets.back());
      }
    net_.begin_step(all);
  }

  void step() { lab14::training_step(net_, keep_.data()); }

  void run(bool show_blocks) {
    std::vector<double> seconds;
    std::map<std::string, double> sums;
    std::vector<std::string> order;
    std::optional<block_times> times;
    for (int i = 0; i < options_.steps; ++i) {
      load();
      if (i == 1) times.emplace(net_.stream());  // the first step warms up
      const auto begin = std::chrono::steady_clock::now();
      step();
      net_.synchronize();
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      if (const std::string why = net_.calls().seen().missing(); !why.empty())
        throw lab14::misuse("after the step, " + why);
      losses_.push_back(net_.mean_loss());
      if (std::isnan(losses_.back()))
        throw model_error("the loss is not a number; ./course lab 14 says which function to finish first");
      fmt::print("step {:3}  loss {:.6f}\n", i + 1, losses_.back());
      std::fflush(stdout);
      if (times)
        for (const auto& [name, of_block] : times->take()) {
          if (sums.emplace(name, 0).second) order.push_back(name);
          sums[name] += of_block;
        }
    }
    times.reset();
    show_time(std::move(seconds));
    if (show_blocks) show_blocks_of(sums, order);
    if (!options_.save.empty()) gpt2::write_checkpoint(options_.save, {start_.config, net_.weights()});
    if (!options_.record.empty()) write_record();
    if (!options_.expect.empty()) compare();
  }

  void profile() {
    load();
    lab::profile p;
    p.run("step", [&] {
      net_.repeat_step();
      step();
    });
    p.report();
  }

 private:
  static int batch_of(const options& o) {
    if (o.micro_batches < 1 || o.batch < 1 || o.batch % o.micro_batches != 0)
      throw model_error(
          fmt::format("{} sequences cannot be divided evenly among {} micro-batches", o.batch, o.micro_batches));
    return o.batch / o.micro_batches;
  }

  void show_time(std::vector<double> seconds) const {
    if (seconds.size() > 1) seconds.erase(seconds.begin());
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    const auto kept = std::count(keep_.begin(), keep_.end(), std::uint8_t{1});
    if (simulated)
      fmt::print("the simulated device took {:.0f} ms a step here (median of {})", 1e3 * *middle, seconds.size());
    else
      fmt::print("{:.3f} ms a step (median of {}), {:.0f} tokens/s", 1e3 * *middle, seconds.size(),
                 options_.batch * options_.length / *middle);
    fmt::print("; {} of {} layers kept, {:.1f} MB of activations\n", kept, keep_.size(),
               1e-6 * static_cast<double>(net_.calls().seen().peak_bytes()));
  }

  /// Means over all steps but the first.
  void show_blocks_of(const std::map<std::string, double>& sums, const std::vector<std::string>& order) const {
    if (order.empty()) return;
    fmt::print("time of the device{}, a step:\n", simulated ? ", by its model" : "");
    const auto show = [&](const std::string& name, const std::string& path) {
      fmt::print("  {:<26} {:10.1f} us\n", name, 1e6 * sums.at(path) / (options_.steps - 1));
    };
    for (const std::string& phase : order) {
      if (phase.find(": ") != std::string::npos) continue;
      show(phase, phase);
      for (const std::string& path : order)
        if (path.starts_with(phase + ": ")) show("  " + path.substr(phase.size() + 2), path);
    }
  }

  /// For train.py, which repeats the training.
  void write_record() const {
    const lab14::adamw_settings& with = options_.with;
    const gpt2::config& c = start_.config;
    const nlohmann::json all{{"context", c.context},
                             {"vocabulary", c.vocabulary},
                             {"padded_vocabulary", c.padded_vocabulary},
                             {"layers", c.layers},
                             {"heads", c.heads},
                             {"channels", c.channels},
                             {"batch", options_.batch},
                             {"length", options_.length},
                             {"steps", options_.steps},
                             {"learning_rate", with.learning_rate},
                             {"beta1", with.beta1},
                             {"beta2", with.beta2},
                             {"epsilon", with.epsilon},
                             {"weight_decay", with.weight_decay},
                             {"tokens", tokens_},
                             {"targets", targets_},
                             {"losses", losses_}};
    std::ofstream out(options_.record);
    out << all << "\n";
    if (!out) throw model_error(options_.record + ": cannot be written; does its folder exist?");
  }

  /// Compares the losses with those of another training, by train --record or train.py.
  void compare() const {
    const auto other = nlohmann::json::parse(contents(options_.expect)).at("losses").get<std::vector<float>>();
    if (other.size() != losses_.size())
      throw model_error(
          fmt::format("{}: {} losses, but there are {} steps", options_.expect, other.size(), losses_.size()));
    float worst = 0;
    for (std::size_t i = 0; i < other.size(); ++i) worst = std::max(worst, std::abs(losses_[i] - other[i]));
    fmt::print("largest difference from {}: {:.1e}\n", options_.expect, worst);
    if (!(worst <= 1e-4f)) throw model_error("the losses differ by more than 1e-4");
  }

  options options_;
  gpt2::checkpoint start_;
  std::vector<int> text_;
  gpt2_network net_;
  std::vector<std::uint8_t> keep_;
  std::size_t at_ = 0;
  std::vector<int> tokens_, targets_;
  std::vector<float> losses_;
};

}  // namespace

int main(int argc, char** argv) try {
  options o;
  CLI::App app{"Trains a GPT-2 with the kernels and the step of lab 14."};
  app.option_defaults()->always_capture_default();
  app.add_option("--model", o.model,
                 "random weights: small (4 layers of 64 channels, 512 tokens), d12 (GPT-2 124M), d24, or six numbers "
                 "context:vocabulary:padded:layers:heads:channels");
  app.add_option("--checkpoint", o.checkpoint, "begin with these weights: llm.c's .bin or .safetensors");
  app.add_option("--text", o.text, "what to learn; split by the tokenizer of common/gpt2/tiny");
  app.add_option("--batch", o.batch, "sequences in a step");
  app.add_option("--time,--length", o.length, "tokens in each sequence");
  app.add_option("--steps", o.steps, "number of steps")->check(CLI::Range(1, 1'000'000));
  app.add_option("--micro-batches", o.micro_batches, "parts of a step's batch");
  app.add_option("--keep", o.keep, "keep the inner activations of this many layers, the last; -1: of all");
  app.add_option("--budget", o.budget, "MB of activations: your choose_layers decides, not --keep");
  app.add_option("--precision", o.precision, "of products")->check(CLI::IsMember({"fp32", "tf32"}));
  app.add_option("--learning-rate", o.with.learning_rate, "AdamW's");
  app.add_option("--weight-decay", o.with.weight_decay, "AdamW's, for matrices");
  app.add_option("--write", o.start, "write the weights before the first step as an llm.c checkpoint");
  app.add_option("--save", o.save, "write the weights after the last step");
  app.add_option("--record", o.record, "write settings, tokens and losses as JSON");
  app.add_option("--expect", o.expect, "compare the losses with those of such a file");
  app.add_option("--seed", o.seed, "seed of random weights");
  CLI11_PARSE(app, argc, argv);
  const bool profiled = std::getenv("LAB_PROFILE") != nullptr;
  training t(o);
  t.run(!profiled);
  if (profiled) t.profile();
  return 0;
} catch (const lab14::misuse& error) {
  fmt::print(stderr, "train: training_step calls {}\n", error.what());
  return 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "train: {}\n", error.what());
  return 1;
}
