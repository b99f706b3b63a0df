// Sizes and offsets of GPT-2's weights, and random weights.
#include "gpt2/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lab/splitmix.hpp"

namespace gpt2 {
namespace {

bool in_each_layer(tensor which) { return which > tensor::position_embedding && which < tensor::final_norm_weight; }

}  // namespace

std::size_t size_of(const config& of, tensor which) {
  const auto c = static_cast<std::size_t>(of.channels);
  switch (which) {
    case tensor::token_embedding: return static_cast<std::size_t>(of.padded_vocabulary) * c;
    case tensor::position_embedding: return static_cast<std::size_t>(of.context) * c;
    case tensor::qkv_weight: return 3 * c * c;
    case tensor::qkv_bias: return 3 * c;
    case tensor::projection_weight: return c * c;
    case tensor::expand_weight:
    case tensor::contract_weight: return 4 * c * c;
    case tensor::expand_bias: return 4 * c;
    case tensor::count: return 0;
    default: return c;
  }
}

std::size_t offset_of(const config& of, tensor which, int layer) {
  std::size_t offset = 0;
  for (int before = 0; before < static_cast<int>(which); ++before) {
    const auto t = static_cast<tensor>(before);
    offset += size_of(of, t) * (in_each_layer(t) ? static_cast<std::size_t>(of.layers) : 1);
  }
  return offset + static_cast<std::size_t>(layer) * size_of(of, which);
}

std::size_t parameters(const config& of) { return offset_of(of, tensor::count); }

config config_named(const std::string& name) {
  if (name == "d12") return {};
  if (name == "d24") return {.layers = 24, .heads = 16, .channels = 1024};
  if (name == "d36") return {.layers = 36, .heads = 20, .channels = 1280};
  if (name == "d48") return {.layers = 48, .heads = 25, .channels = 1600};
  // Small enough for the simulated device; the vocabulary is odd, as GPT-2's is.
  if (name == "tiny")
    return {.context = 64, .vocabulary = 101, .padded_vocabulary = 128, .layers = 2, .heads = 4, .channels = 64};
  config c;
  char rest = 0;
  if (std::sscanf(name.c_str(), "%d:%d:%d:%d:%d:%d%c", &c.context, &c.vocabulary, &c.padded_vocabulary, &c.layers,
                  &c.heads, &c.channels, &rest) != 6)
    throw model_error(fmt::format(
        "no configuration '{}'; use d12, d24, d36, d48, tiny, or six numbers context:vocabulary:padded:layers:heads:"
        "channels, such as 1024:50257:50304:12:12:768",
        name));
  expect_sane(c, name);
  return c;
}

void expect_sane(const config& of, const std::string& where) {
  constexpr int most = 1 << 20;  // the product of two sizes still fits
  const auto expect = [&](bool sane, const std::string& what) {
    if (!sane) throw model_error(fmt::format("{}: {}; this is not a GPT-2 model, or the file is damaged", where, what));
  };
  const std::pair<const char*, int> sizes[] = {{"context", of.context}, {"vocabulary", of.vocabulary},
                                               {"layers", of.layers},   {"padded vocabulary", of.padded_vocabulary},
                                               {"heads", of.heads},     {"channels", of.channels}};
  for (const auto& [name, value] : sizes)
    expect(value > 0 && value <= most, fmt::format("{} is {}, but must be 1 to {}", name, value, most));
  expect(of.layers <= 1000 && of.channels <= 1 << 16,
         fmt::format("{} layers of {} channels are too many", of.layers, of.channels));
  expect(of.channels % of.heads == 0,
         fmt::format("{} channels cannot be divided evenly among {} heads", of.channels, of.heads));
  expect(of.padded_vocabulary >= of.vocabulary,
         fmt::format("the padded vocabulary, {}, is smaller than the vocabulary, {}", of.padded_vocabulary,
                     of.vocabulary));
}

void expect_tokens(const config& of, std::span<const int> tokens, int batch, int length) {
  if (batch < 1 || length < 1)
    throw model_error(
        fmt::format("a batch of {} sequences of {} tokens is empty; give at least 1 of each", batch, length));
  if (length > of.context)
    throw model_error(
        fmt::format("{} tokens are more than the model's context, {}; shorten the text", length, of.context));
  if (tokens.size() != static_cast<std::size_t>(batch) * static_cast<std::size_t>(length))
    throw model_error(fmt::format("{} tokens for a batch of {} x {}", tokens.size(), batch, length));
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || tokens[i] >= of.vocabulary)
      throw model_error(
          fmt::format("token {} is {}, but the vocabulary has 0 to {}; was the text split by a different tokenizer?", i,
                      tokens[i], of.vocabulary - 1));
}

checkpoint random_checkpoint(const config& of, std::uint64_t seed) {
  expect_sane(of, "random checkpoint");
  checkpoint result{of, std::vector<float>(parameters(of))};
  std::uint64_t state = seed;
  const auto uniform = [&] {  // in (0, 1]
    return (static_cast<double>(lab::splitmix64(state) >> 11) + 1.0) * 0x1p-53;
  };
  // Sums of four uniform numbers are close enough to normally distributed, and the same on every machine.
  const auto normal = [&] { return (uniform() + uniform() + uniform() + uniform() - 2.0) * std::sqrt(3.0); };
  for (int kind = 0; kind < static_cast<int>(tensor::count); ++kind) {
    const auto which = static_cast<tensor>(kind);
    float* to = result.weights.data() + offset_of(of, which);
    float* end = result.weights.data() + offset_of(of, static_cast<tensor>(kind + 1));
    double mean = 0.0, deviation = 0.02;
    switch (which) {
      case tensor::norm1_weight:
      case tensor::norm2_weight:
      case tensor::final_norm_weight: mean = 1.0, deviation = 0.1; break;
      // As in GPT-2, weights whose products add to the residual stream in each layer are smaller.
      case tensor::projection_weight:
      case tensor::contract_weight: deviation = 0.02 / std::sqrt(2.0 * of.layers); break;
      case tensor::position_embedding: deviation = 0.01; break;
      default: break;
    }
    for (; to != end; ++to) *to = static_cast<float>(mean + deviation * normal());
  }
  return result;
}

}  // namespace gpt2
