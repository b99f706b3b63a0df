// Lab 14's problems for step.cpp and the whole network; cases.cpp adds them to those for the kernels.
//
//   choose_layers/LAYERS-PERCENT                         host    a plan, by its peak, compared with all plans
//   training_step/LAYERS-MICRO_BATCHES-PERCENT           host    the order, the peak, what is recomputed
//   gradients/LAYERS_HEADS_CHANNELS-MICRO_BATCHES-KEPT   device  one step of a GPT-2 with all student files, twice
//   forty_steps/LAYERS_HEADS_CHANNELS-MICRO_BATCHES-KEPT device  forty steps; some gradients are checked
//
// cases.cpp calls step_cases() and drawn_step_cases(seed); calls.cpp has an entry for each of the four names:
// run_choose_layers and run_training_step (host), run_gradients and run_forty_steps (device, own_streams).
#pragma once

#include <lab/case.hpp>
#include <lab/compare.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "account.hpp"
#include "gpt2/pass.hpp"

namespace lab14 {

using keep_flags = std::vector<std::uint8_t>;
inline constexpr int no_target = -1;  ///< `ignored` in training.hpp, which needs CUDA's headers

// ---- choose_layers: what a plan holds ------------------------------------------------------------------------------

/// The peak of a micro-batch with this plan, if the calls are in the order that holds least.
inline std::int64_t peak_of(const keep_flags& keep, std::int64_t inner, std::int64_t residual) {
  std::int64_t held = residual, peak = held;
  const auto add = [&](std::int64_t bytes) { peak = std::max(peak, held += bytes); };
  for (const std::uint8_t k : keep) {
    add(inner + residual);
    if (!k) held -= inner;
  }
  held -= residual;
  for (std::size_t i = keep.size(); i-- > 0;) {
    if (!keep[i]) add(inner);
    held -= inner + residual;
  }
  return peak;
}

inline std::int64_t kept(const keep_flags& keep) { return std::count(keep.begin(), keep.end(), std::uint8_t{1}); }

/// The most layers that any plan within the budget keeps. Tries all plans if there are few. For many layers, tries only
/// those that keep the last k: after the last layer's forward pass all residuals and its inner activations are held, so
/// any k layers need at least as much as the last k.
inline std::int64_t most_kept(int layers, std::int64_t inner, std::int64_t residual, std::int64_t budget) {
  std::int64_t most = -1;
  const auto try_plan = [&](const keep_flags& keep) {
    if (peak_of(keep, inner, residual) <= budget) most = std::max(most, kept(keep));
  };
  for (std::uint32_t plan = 0; layers <= 12 && plan < 1u << layers; ++plan) {
    keep_flags keep;
    for (int i = 0; i < layers; ++i) keep.push_back(plan >> i & 1);
    try_plan(keep);
  }
  for (int k = 0; layers > 12 && k <= layers; ++k) {
    keep_flags keep(static_cast<std::size_t>(layers));
    std::fill_n(keep.rbegin(), k, std::uint8_t{1});
    try_plan(keep);
  }
  return most;
}

inline std::string shown(const keep_flags& keep) {
  std::string text;
  for (std::size_t i = 0; i < keep.size() && i < 40; ++i) text += std::to_string(keep[i]);
  return text + (keep.size() > 40 ? "..." : "");
}

/// The budget is `percent` of the way from the least possible to that for all layers. The seed draws the sizes, which
/// are small for few layers, so that a message can be followed.
inline lab::test_case choose_layers_case(int layers, int percent) {
  lab::test_case result;
  result.id = "choose_layers/" + std::to_string(layers) + "-" + std::to_string(percent);
  result.entry = "choose_layers";
  result.where = lab::part::host;
  result.parameters = {layers};
  result.outputs = {{lab::dtype::u8, layers}};
  result.inputs = [=](std::uint64_t seed) {
    lab::random_sizes draw(seed);
    const std::int64_t residual = layers <= 4 ? draw(1, 9) : draw(1, std::int64_t{1} << 36);
    const std::int64_t inner = residual * draw(1, 15) + draw(0, residual);
    const std::int64_t least = (layers + 1) * residual + inner, most = least + (layers - 1) * inner;
    if (percent > 100'000) {  // fits more layers than 32 bits count, but the low 32 bits of their number are fewer
      const std::int64_t few = draw(1, 15), fit = (draw(1, 1000) << 32) + draw(0, layers - 1);
      return lab::buffers(std::vector<std::int64_t>{few, 1, layers + 1 + few * fit});
    }
    // Sometimes exactly what some number of layers needs, or a byte less.
    std::int64_t budget = least + (most - least) * percent / 100;
    if (draw(0, 1) == 1) budget = std::max(least, budget - (budget - least) % inner - draw(0, 1));
    return lab::buffers(std::vector<std::int64_t>{inner, residual, budget});
  };
  result.check = [=](std::span<const lab::buffer> before, std::span<const lab::buffer> got) -> std::string {
    const auto sizes = before[0].as<std::int64_t>();
    const auto out = got[0].as<std::uint8_t>();
    const keep_flags keep(out.begin(), out.end());
    for (std::size_t i = 0; i < keep.size(); ++i)
      if (keep[i] > 1) return "keep[" + std::to_string(i) + "] is " + std::to_string(keep[i]) + ", not 0 or 1";
    const std::string what = "inner " + std::to_string(sizes[0]) + ", residual " + std::to_string(sizes[1]) +
                             ", budget " + std::to_string(sizes[2]) + ": keep = " + shown(keep);
    const std::int64_t peak = peak_of(keep, sizes[0], sizes[1]), most = most_kept(layers, sizes[0], sizes[1], sizes[2]);
    if (peak > sizes[2]) return what + " holds " + std::to_string(peak) + " bytes at its peak";
    if (kept(keep) == most) return {};
    return what + " keeps " + std::to_string(kept(keep)) + " layers; " + std::to_string(most) + " fit";
  };
  return result;
}

// ---- training_step: every call -------------------------------------------------------------------------------------

inline lab::test_case training_step_case(int layers, int micro_batches, int percent) {
  lab::test_case result;
  result.id =
      "training_step/" + std::to_string(layers) + "-" + std::to_string(micro_batches) + "-" + std::to_string(percent);
  result.entry = "training_step";
  result.where = lab::part::host;
  result.parameters = {layers, micro_batches};
  result.outputs = {{lab::dtype::i64, 1 + 3 * static_cast<std::int64_t>(recorder::most_calls(layers, micro_batches))}};
  result.inputs = [=](std::uint64_t seed) {
    lab::random_sizes draw(seed);
    keep_flags keep;
    std::vector<std::int32_t> targets;
    for (int i = 0; i < layers; ++i) keep.push_back(draw(1, 100) <= percent);
    // In some micro-batches all targets are ignored, but not in all.
    const auto never = draw(0, micro_batches - 1);
    for (int m = 0; m < micro_batches; ++m)
      targets.push_back(m != never && draw(0, 2) == 0 ? 0 : static_cast<std::int32_t>(draw(1, 40'000)));
    return lab::buffers(keep, targets);
  };
  result.check = [=](std::span<const lab::buffer> before, std::span<const lab::buffer> got) -> std::string {
    const auto flags = before[0].as<std::uint8_t>();
    const auto targets = before[1].as<std::int32_t>();
    const auto record = got[0].as<std::int64_t>();
    const keep_flags keep(flags.begin(), flags.end());
    constexpr std::int64_t inner = 15, residual = 1;
    account seen(layers, micro_batches, inner, residual);
    const double all = std::accumulate(targets.begin(), targets.end(), 0.0);
    std::vector<std::string> made;
    // Lists the last calls before the error.
    const auto wrong = [&](const std::string& why) {
      std::string text = "with keep = " + shown(keep) + ", after" + (made.size() > 8 ? " ..." : "");
      for (std::size_t i = made.size() - std::min<std::size_t>(made.size(), 8); i < made.size(); ++i)
        text += " " + made[i];
      return text + why;
    };
    const auto calls = static_cast<std::size_t>(std::clamp<std::int64_t>(record[0], 0, (std::ssize(record) - 1) / 3));
    for (std::size_t i = 0; i < calls; ++i) {
      const network_call now{record[1 + 3 * i], record[2 + 3 * i],
                             std::bit_cast<float>(static_cast<std::int32_t>(record[3 + 3 * i]))};
      const bool computes = now.what != network_call::drop_inner && now.what != network_call::drop_residual &&
                            now.what != network_call::zero_gradients && now.what != network_call::update;
      std::string why = computes ? seen.needless(keep.data()) : "";
      if (why.empty()) why = seen.enter(now);
      if (!why.empty()) return wrong(", then " + now.text() + ": " + why);
      if (now.what == network_call::loss && !(std::abs(static_cast<double>(now.scale) * all - 1) < 1e-5)) {
        std::string each;
        for (const std::int32_t t : targets) each += (each.empty() ? "" : ", ") + std::to_string(t);
        return now.text() + ": micro-batches have " + each + " targets, so the mean needs a scale of " +
               std::to_string(1 / all);
      }
      made.push_back(now.text());
    }
    if (const std::string why = seen.missing(); !why.empty()) return wrong(", the step ends: " + why);
    const std::int64_t most = peak_of(keep, inner, residual), again = (layers - kept(keep)) * micro_batches;
    if (seen.peak_bytes() > most)
      return "with keep = " + shown(keep) + ", it holds " + std::to_string(seen.peak_bytes()) + " bytes at its peak; " +
             std::to_string(most) + " are enough, with " + std::to_string(inner) +
             " for a layer's inner activations and 1 for a residual";
    if (seen.recomputed_layers() <= again) return {};
    return "with keep = " + shown(keep) + ", it recomputes " + std::to_string(seen.recomputed_layers()) + " layers; " +
           std::to_string(again) + " are enough";
  };
  return result;
}

// ---- the whole network, in float64 ---------------------------------------------------------------------------------

struct training_shape {
  gpt2::config config;
  int batch, length, micro_batches, steps;
  int kept;  ///< this many of the last layers
  int rows() const { return batch * length; }
  std::size_t tokens_in_step() const { return static_cast<std::size_t>(rows() * micro_batches); }
  std::size_t parameters() const { return gpt2::parameters(config); }
};

/// The mean loss of a step over all targets.
inline double mean_loss(const training_shape& s, const gpt2::checkpoint& model, std::span<const std::int32_t> tokens,
                        std::span<const std::int32_t> targets) {
  const std::vector<double> logits = gpt2::reference_logits(model, tokens, s.batch * s.micro_batches, s.length);
  const auto v = static_cast<std::size_t>(s.config.vocabulary);
  double sum = 0, count = 0;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    if (targets[row] == no_target) continue;
    const auto of_row = std::span(logits).subspan(row * v, v);
    const double largest = *std::max_element(of_row.begin(), of_row.end());
    double exponentials = 0;
    for (const double l : of_row) exponentials += std::exp(l - largest);
    sum += largest + std::log(exponentials) - of_row[static_cast<std::size_t>(targets[row])];
    ++count;
  }
  return sum / count;
}

constexpr const char* tensor_names[] = {
    "token_embedding",   "position_embedding", "norm1_weight",      "norm1_bias",     "qkv_weight",    "qkv_bias",
    "projection_weight", "projection_bias",    "norm2_weight",      "norm2_bias",     "expand_weight", "expand_bias",
    "contract_weight",   "contract_bias",      "final_norm_weight", "final_norm_bias"};

/// Compares gradients with central differences: each tensor moves along random signs, in both directions. The gradient
/// then changes the loss by about its norm times the step, however many elements it has; an error of 1/5000 of the norm
/// is found. The weights are rounded on both sides, so the actual step is their difference.
inline std::string gradients_wrong(const training_shape& s, gpt2::checkpoint model,
                                   std::span<const std::int32_t> tokens, std::span<const std::int32_t> targets,
                                   std::span<const float> gradients, std::uint64_t seed) {
  constexpr float step = 1e-4f;
  lab::random_sizes draw(seed);
  const std::vector<float> start = model.weights;
  for (int kind = 0; kind < static_cast<int>(gpt2::tensor::count); ++kind) {
    const auto first = gpt2::offset_of(s.config, static_cast<gpt2::tensor>(kind)),
               last = gpt2::offset_of(s.config, static_cast<gpt2::tensor>(kind + 1));
    std::vector<float> signs =
        lab::random_floats(last - first, lab::derived_seed(seed, "signs", static_cast<std::uint64_t>(kind)));
    std::vector<double> moved(last - first);
    double losses[2], norm = 0, expected = 0;
    for (const int side : {0, 1}) {
      for (std::size_t i = first; i < last; ++i) {
        const bool up = (signs[i - first] < 0) == (side == 0);
        model.weights[i] = start[i] + (up ? step : -step);
        moved[i - first] += (side == 0 ? 1 : -1) * static_cast<double>(model.weights[i]);
      }
      losses[side] = mean_loss(s, model, tokens, targets);
    }
    for (std::size_t i = first; i < last; ++i) {
      const double g = static_cast<double>(gradients[i]);
      expected += g * moved[i - first];
      norm += g * g;
      model.weights[i] = start[i];
    }
    const double seen = losses[0] - losses[1], scale = 2 * static_cast<double>(step);
    if (std::abs(seen - expected) <= scale * (2e-4 * std::sqrt(norm) + 1e-6)) continue;
    return std::string("along random signs, the gradient of ") + tensor_names[kind] + " changes the loss by " +
           std::to_string(expected / scale) + " for each unit; differences of the loss say " +
           std::to_string(seen / scale);
  }
  return {};
}

/// AdamW in float64, from the reported gradients and the weights before the update.
class adamw_in_double {
 public:
  adamw_in_double(const training_shape& s, double rate, double decay)
      : rate_(rate), m_(s.parameters()), v_(s.parameters()), decay_(s.parameters()) {
    for (int kind = 0; kind < static_cast<int>(gpt2::tensor::count); ++kind) {
      const std::string name = tensor_names[kind];
      const bool matrix =
          name.ends_with("_embedding") || (name.ends_with("_weight") && name.find("norm") == std::string::npos);
      if (matrix) std::fill(decay_.begin() + offset(s, kind), decay_.begin() + offset(s, kind + 1), decay);
    }
  }
  std::string wrong(std::span<const float> before, std::span<const float> gradients, std::span<const float> after) {
    ++step_;
    std::vector<double> want(before.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double g = static_cast<double>(gradients[i]), w = static_cast<double>(before[i]);
      m_[i] = beta1 * m_[i] + (1 - beta1) * g;
      v_[i] = beta2 * v_[i] + (1 - beta2) * g * g;
      want[i] = w - rate_ * decay_[i] * w -
                rate_ * m_[i] / (1 - std::pow(beta1, step_)) / (std::sqrt(v_[i] / (1 - std::pow(beta2, step_))) + 1e-8);
    }
    // Rounding moves a weight by a few units in its last place, and an update by its own relative error.
    return lab::mismatch(std::vector<double>(after.begin(), after.end()), want, {1e-4 * rate_, 4e-7});
  }

 private:
  static std::ptrdiff_t offset(const training_shape& s, int kind) {
    return static_cast<std::ptrdiff_t>(gpt2::offset_of(s.config, static_cast<gpt2::tensor>(kind)));
  }
  static constexpr double beta1 = 0.9f, beta2 = 0.999f;  // the settings are floats
  double rate_;
  std::vector<double> m_, v_, decay_;
  int step_ = 0;
};

/// Checks `deep` of the steps, the first and random ones, against the reference; checks all updates. The steps that are
/// not checked run the same code, from weights that are right.
inline std::string training_wrong(const training_shape& s, std::span<const lab::buffer> before,
                                  std::span<const lab::buffer> got, int deep) {
  const auto tokens = before[1].as<std::int32_t>(), targets = before[2].as<std::int32_t>();
  const auto settings = before[4].as<float>();
  const std::size_t n = s.parameters(), each = s.tokens_in_step();
  adamw_in_double optimizer(s, static_cast<double>(settings[0]), static_cast<double>(settings[1]));
  const std::uint64_t seed = lab::secret_seed();
  lab::random_sizes draw(seed);
  std::vector<std::int64_t> checked{0};
  while (static_cast<int>(checked.size()) < deep) checked.push_back(draw(1, s.steps - 1));
  for (int step = 0; step < s.steps; ++step) {
    const auto at = static_cast<std::size_t>(step);
    const auto weights = step == 0 ? before[0].as<float>() : got[2].as<float>().subspan((at - 1) * n, n);
    const auto gradients = got[1].as<float>().subspan(at * n, n), after = got[2].as<float>().subspan(at * n, n);
    const std::string where = s.steps > 1 ? "step " + std::to_string(step + 1) + ": " : "";
    if (std::find(checked.begin(), checked.end(), step) != checked.end()) {
      const gpt2::checkpoint model{s.config, {weights.begin(), weights.end()}};
      const auto ids = tokens.subspan(at * each, each), wanted = targets.subspan(at * each, each);
      const double want = mean_loss(s, model, ids, wanted), loss = static_cast<double>(got[0].as<float>()[at]);
      if (!(std::abs(loss - want) <= 1e-5 * want))
        return where + "the mean loss is " + std::to_string(loss) + ", not " + std::to_string(want);
      const std::string wrong = gradients_wrong(s, model, ids, wanted, gradients, seed + at);
      if (!wrong.empty()) return where + wrong;
    }
    const std::string wrong = optimizer.wrong(weights, gradients, after);
    if (!wrong.empty()) return where + "weights after the update: " + wrong;
  }
  return {};
}

inline lab::test_case training_case(const std::string& entry, const training_shape& s, int deep) {
  lab::test_case result;
  const gpt2::config& c = s.config;
  result.id = entry + "/" + std::to_string(c.layers) + "_" + std::to_string(c.heads) + "_" +
              std::to_string(c.channels) + "-" + std::to_string(s.micro_batches) + "-" + std::to_string(s.kept);
  result.entry = entry;
  result.parameters = {c.context, c.vocabulary, c.padded_vocabulary, c.layers, c.heads, c.channels,
                       s.batch,   s.length,     s.micro_batches,     s.steps};
  const auto n = static_cast<std::int64_t>(s.parameters());
  const int runs = entry == "gradients" ? 2 : 1;
  for (int run = 0; run < runs; ++run)
    for (const std::int64_t size : {std::int64_t{1}, n, n}) result.outputs.push_back({lab::dtype::f32, s.steps * size});
  result.inputs = [s](std::uint64_t seed) {
    lab::random_sizes draw(seed + 1);
    std::vector<std::int32_t> tokens, targets;
    // A few tokens are frequent, as in a text. Each micro-batch ignores a different share of its targets, but never the
    // first.
    for (std::size_t i = 0, all = s.tokens_in_step() * static_cast<std::size_t>(s.steps); i < all; ++i) {
      const std::size_t rows = static_cast<std::size_t>(s.rows());
      const bool ignore = draw(0, 9) < static_cast<std::int64_t>(i / rows % 4) * 2 && i % rows != 0;
      tokens.push_back(static_cast<std::int32_t>(draw(0, draw(0, s.config.vocabulary - 1))));
      targets.push_back(ignore ? no_target : static_cast<std::int32_t>(draw(0, s.config.vocabulary - 1)));
    }
    targets[0] = 1;  // at least one is not ignored
    keep_flags keep(static_cast<std::size_t>(s.config.layers));
    std::fill_n(keep.rbegin(), s.kept, std::uint8_t{1});
    return lab::buffers(gpt2::random_checkpoint(s.config, seed).weights, tokens, targets, keep,
                        std::vector<float>{3e-3f, 0.1f});
  };
  result.check = [s, deep, runs](std::span<const lab::buffer> before, std::span<const lab::buffer> got) -> std::string {
    if (const std::string wrong = training_wrong(s, before, got, deep); !wrong.empty()) return wrong;
    for (std::size_t i = 0; runs == 2 && i < 3; ++i)
      if (std::memcmp(got[i].bytes().data(), got[i + 3].bytes().data(), got[i].bytes().size()) != 0)
        return std::string("a second run of the same step gives other bits of the ") + (i == 0   ? "loss"
                                                                                        : i == 1 ? "gradients"
                                                                                                 : "weights");
    return {};
  };
  return result;
}

/// One step of a small GPT-2.
inline lab::test_case gradients_case(int layers, int heads, int channels, int batch, int length, int micro_batches,
                                     int kept_layers) {
  const gpt2::config c{.context = length + 3,
                       .vocabulary = 45,
                       .padded_vocabulary = 52,
                       .layers = layers,
                       .heads = heads,
                       .channels = channels};
  return training_case("gradients", {c, batch, length, micro_batches, 1, kept_layers}, 1);
}

inline lab::test_case forty_steps_case(int layers, int micro_batches, int kept_layers) {
  const gpt2::config c{
      .context = 16, .vocabulary = 29, .padded_vocabulary = 32, .layers = layers, .heads = 2, .channels = 16};
  return training_case("forty_steps", {c, 1, 8, micro_batches, 40, kept_layers}, 3);
}

// ---- all -----------------------------------------------------------------------------------------------------------

inline std::vector<lab::test_case> step_cases() {
  std::vector<lab::test_case> all;
  for (const int layers : {1, 2, 3, 4, 7, 12, 13, 48, 200})
    for (const int percent : {0, 30, 60, 100}) all.push_back(choose_layers_case(layers, percent));
  for (const int percent : {101, 1000, 1'000'000})
    for (const int layers : {1, 4, 13}) all.push_back(choose_layers_case(layers, percent));
  for (const int layers : {1, 2, 3, 70})
    for (const int micro_batches : {1, 3})
      for (const int percent : {0, 50, 100}) all.push_back(training_step_case(layers, micro_batches, percent));
  all.push_back(training_step_case(2, 11, 50));
  all.push_back(gradients_case(1, 1, 16, 1, 5, 1, 1));
  all.push_back(gradients_case(2, 1, 64, 2, 17, 1, 2));
  all.push_back(gradients_case(2, 3, 36, 2, 9, 3, 1));
  all.push_back(forty_steps_case(1, 1, 1));
  all.push_back(forty_steps_case(1, 2, 0));
  return all;
}

/// Random sizes: no submission can prepare for them.
inline std::vector<lab::test_case> drawn_step_cases(std::uint64_t seed) {
  lab::random_sizes draw(lab::derived_seed(seed, "step", 0));
  const auto size = [&](int least, int most) { return static_cast<int>(draw(least, most)); };
  std::vector<lab::test_case> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(choose_layers_case(size(3, 12), size(1, 99)));
    all.push_back(choose_layers_case(size(14, 100), size(1, 99)));
    all.push_back(training_step_case(size(4, 20), size(2, 4), size(20, 80)));
  }
  // Larger than any case above: layers, micro-batches.
  all.push_back(choose_layers_case(size(201, 1000), size(1, 99)));
  all.push_back(training_step_case(size(71, 300), 2, size(20, 80)));
  all.push_back(training_step_case(size(2, 3), size(13, 100), size(20, 80)));
  const int heads = size(1, 3), layers = size(2, 3);
  all.push_back(gradients_case(layers, heads, heads * 4 * size(2, 8), 2, size(4, 12), 2, size(0, layers)));
  return all;
}

}  // namespace lab14
