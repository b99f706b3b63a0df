// LLM-CUDA against float64, on whichever device this was built for, in each precision.
#include <gtest/gtest.h>

#include <cmath>

#include "gpt2/handed_in.hpp"

namespace {

using namespace gpt2;

std::vector<int> some_tokens(const config& of, int count) {
  std::vector<int> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back((i * 37 + 11) % of.vocabulary);
  return tokens;
}

double largest_error(const std::vector<float>& got, const std::vector<double>& want) {
  if (got.size() != want.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i)  // NaN must not pass
    if (const double e = std::abs(static_cast<double>(got[i]) - want[i]); !(e <= largest)) largest = e;
  return largest;
}

/// Logits here are about 0.5, sums of 64 products whose factors are rounded to 8 (bf16), 11 (tf32) or 24 bits, in
/// each of 2 layers; tf32 is FP32 on the simulated device.
struct how_exact {
  precision how;
  double allowed;
};
class CudaPass : public testing::TestWithParam<how_exact> {};

TEST_P(CudaPass, IsEqualToTheReference) {
  const checkpoint model = random_checkpoint(config_named("tiny"), 7);
  const auto pass = make_cuda(model, GetParam().how, handed_in());
  for (const auto& [batch, length] : {std::pair{1, 1}, {2, 5}, {3, 33}, {1, 64}}) {
    const std::vector<int> tokens = some_tokens(model.config, batch * length);
    const std::vector<double> want = reference_logits(model, tokens, batch, length);
    pass->forward(tokens, batch, length);
    EXPECT_LE(largest_error(pass->logits(), want), GetParam().allowed) << batch << " x " << length;
    std::vector<int> others(tokens.rbegin(), tokens.rend());
    others[0] = 0;
    for (int i = 0; i < 2; ++i) {
      pass->load(i == 0 ? others : tokens, batch, length);
      pass->replay();
      EXPECT_LE(largest_error(pass->logits(), i == 0 ? reference_logits(model, others, batch, length) : want),
                GetParam().allowed)
          << "as a graph, " << batch << " x " << length;
    }
    std::vector<double> last(want.end() - model.config.vocabulary, want.end());
    EXPECT_LE(largest_error(pass->logits_at(batch - 1, length - 1), last), GetParam().allowed);
  }
}

TEST_P(CudaPass, IsEqualToTheReferenceWithHeadsOf64) {
  const config of{.context = 200, .vocabulary = 11, .padded_vocabulary = 16, .layers = 1, .heads = 2, .channels = 128};
  checkpoint model = random_checkpoint(of, 9);
  // Queries and keys large enough that softmax decides for a few tokens.
  for (std::size_t i = 0; i < size_of(of, tensor::qkv_weight); ++i)
    model.weights[offset_of(of, tensor::qkv_weight) + i] *= 10.0f;
  const auto pass = make_cuda(model, GetParam().how, handed_in());
  for (const auto& [batch, length] : {std::pair{2, 1}, {1, 63}, {1, 64}, {2, 65}, {1, 200}}) {
    const std::vector<int> tokens = some_tokens(of, batch * length);
    pass->forward(tokens, batch, length);
    EXPECT_LE(largest_error(pass->logits(), reference_logits(model, tokens, batch, length)), GetParam().allowed)
        << batch << " x " << length;
  }
}

TEST_P(CudaPass, TakesLongTextsInParts) {
  const config of{.context = 300, .vocabulary = 11, .padded_vocabulary = 16, .layers = 1, .heads = 2, .channels = 16};
  const checkpoint model = random_checkpoint(of, 8);
  const auto pass = make_cuda(model, GetParam().how, handed_in());
  const std::vector<int> tokens = some_tokens(of, 300);
  pass->forward(tokens, 1, 300);
  EXPECT_LE(largest_error(pass->logits(), reference_logits(model, tokens, 1, 300)), GetParam().allowed);
}

INSTANTIATE_TEST_SUITE_P(Precisions, CudaPass,
                         testing::Values(how_exact{precision::fp32, 2e-6}, how_exact{precision::tf32, 2e-3},
                                         how_exact{precision::bf16, 2e-2}),
                         [](const auto& of) {
                           return std::string(of.param.how == precision::fp32   ? "fp32"
                                              : of.param.how == precision::tf32 ? "tf32"
                                                                                : "bf16");
                         });

TEST(Pass, RefusesTokensThatDoNotFit) {
  const auto pass = make_cuda(random_checkpoint(config_named("tiny"), 7), precision::fp32, handed_in());
  EXPECT_THROW(pass->forward(std::vector{1, 2, 101}, 1, 3), model_error);
  EXPECT_THROW(pass->forward(std::vector{1, -2, 3}, 1, 3), model_error);
  EXPECT_THROW(pass->forward(std::vector{1, 2}, 1, 3), model_error);
  EXPECT_THROW(pass->forward(std::vector<int>(65), 1, 65), model_error);
  EXPECT_THROW(pass->forward({}, 0, 0), model_error);
}

}  // namespace
