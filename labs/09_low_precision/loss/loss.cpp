// The cost of fewer bits for a language model: the loss of the small trained GPT-2 on a text of this course, with its
// weight matrices quantized and dequantized by your functions.
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <gpt2/pass.hpp>
#include <gpt2/text.hpp>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "low_precision.hpp"

namespace {

using gpt2::tensor;
using change = std::function<void(float*, std::size_t)>;  // of this many weights

/// Embeddings, biases and norms stay unchanged: they have few bytes, or are looked up and not multiplied.
gpt2::checkpoint changed(gpt2::checkpoint model, const change& through) {
  for (const tensor matrix :
       {tensor::qkv_weight, tensor::projection_weight, tensor::expand_weight, tensor::contract_weight})
    for (int layer = 0; layer < model.config.layers; ++layer)
      through(model.weights.data() + offset_of(model.config, matrix, layer), size_of(model.config, matrix));
  return model;
}

/// The mean of -log(probability of the next token).
double loss_of(const gpt2::checkpoint& model, const std::vector<int>& tokens) {
  const auto pass = gpt2::make_eigen_on_cpu(model);
  const auto length = static_cast<std::size_t>(model.config.context),
             words = static_cast<std::size_t>(model.config.vocabulary);
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t first = 0; first + length < tokens.size(); first += length) {
    pass->forward({&tokens[first], length}, 1, model.config.context);
    const std::vector<float> logits = pass->logits();
    for (std::size_t t = 0; t < length; ++t, ++count) {
      const float* const row = &logits[t * words];
      double total = 0;
      for (std::size_t w = 0; w < words; ++w) total += std::exp(static_cast<double>(row[w]));
      sum += std::log(total) - static_cast<double>(row[tokens[first + t + 1]]);
    }
  }
  return sum / static_cast<double>(count);
}

template <class Q, class Scale>
change grouped(std::size_t group, std::size_t bytes, void (*to)(Q*, Scale*, const float*, std::size_t),
               void (*from)(float*, const Q*, const Scale*, std::size_t)) {
  return [=](float* weights, std::size_t count) {
    const std::size_t groups = count / group;
    std::vector<Q> codes(groups * bytes);
    std::vector<Scale> scales(groups);
    to(codes.data(), scales.data(), weights, groups);
    from(weights, codes.data(), scales.data(), groups);
  };
}

change as(lab09::format f) {
  return [=](float* weights, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) weights[i] = lab09::decode(lab09::encode(weights[i], f), f);
  };
}

}  // namespace

int main() try {
  using namespace lab09;
  const std::string folder = TINY_GPT2;
  const gpt2::checkpoint model = gpt2::read_checkpoint(folder + "/model.safetensors");
  std::ifstream file(TEXT);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::vector<int> tokens = gpt2::tokenizer(folder).encode(text);
  const double best = loss_of(model, tokens);
  std::printf("%-6s %6s %7s\n%-6s %6d %7.4f\n", "", "bits", "loss", "fp32", 32, best);
  const struct {
    const char* name;
    double bits;
    change through;
  } all[] = {{"bf16", 16, as(format::bf16)},
             {"int8", 8.5, grouped(int_group, 64, quantize_int8, dequantize_int8)},
             {"e4m3", 8, as(format::e4m3)},
             {"int4", 4.5, grouped(int_group, 32, quantize_int4, dequantize_int4)},
             {"mxfp4", 4.25, grouped(mx_group, 16, quantize_mxfp4, dequantize_mxfp4)}};
  for (const auto& [name, bits, through] : all) {
    const double loss = loss_of(changed(model, through), tokens);
    std::printf("%-6s %6g %7.4f  %+.2f %%\n", name, bits, loss, 100 * (loss / best - 1));
  }
} catch (const std::exception& e) {
  std::fprintf(stderr, "lab09.loss: %s\n", e.what());
  return 1;
}
