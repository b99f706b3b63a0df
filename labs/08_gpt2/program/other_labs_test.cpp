// LLM-CUDA with the kernels of labs 09 and 11, and every pass in the ranges of lab 08, against float64.
#include <gtest/gtest.h>
#include <lab/compare.hpp>

#include <cmath>

#include "handed_in.hpp"
#include "lab/range.hpp"

namespace {

using namespace gpt2;
using lab::largest_error;

const config of{.context = 200, .vocabulary = 11, .padded_vocabulary = 16, .layers = 2, .heads = 2, .channels = 128};

std::vector<int> tokens_of(int count) {
  std::vector<int> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back((i * 37 + 11) % of.vocabulary);
  return tokens;
}

struct counted {
  int attention = 0, products = 0;
};
counted calls;

TEST(OtherLabs, GiveTheSameLogits) {
  checkpoint model = random_checkpoint(of, 9);
  // Queries and keys large enough that softmax picks a few tokens.
  for (std::size_t i = 0; i < size_of(of, tensor::qkv_weight); ++i)
    model.weights[offset_of(of, tensor::qkv_weight) + i] *= 10.0f;
  for (const precision how : {precision::fp32, precision::bf16}) {
    kernels with = handed_in();
    use_attention_of_lab11(with);
    use_product_of_lab09(with);
    // Wraps the other labs' kernels, to check that the pass calls them at all.
    static kernels inner;
    inner = with;
    calls = {};
    with.attention = [](float* out, const float* qkv, int batch, int length, int heads, cudaStream_t stream) {
      ++calls.attention;
      inner.attention(out, qkv, batch, length, heads, stream);
    };
    with.attention_bf16 = [](__nv_bfloat16* out, const __nv_bfloat16* qkv, int batch, int length, int heads,
                             cudaStream_t stream) {
      ++calls.attention;
      inner.attention_bf16(out, qkv, batch, length, heads, stream);
    };
    with.gemm_bf16 = [](__nv_bfloat16* c, const __nv_bfloat16* a, const __nv_bfloat16* b, int m, int n, int k,
                        cudaStream_t stream) {
      ++calls.products;
      inner.gemm_bf16(c, a, b, m, n, k, stream);
    };
    const auto pass = make_cuda(model, how, with);
    for (const auto& [batch, length] : {std::pair{2, 3}, {1, 65}}) {
      const std::vector<int> tokens = tokens_of(batch * length);
      pass->forward(tokens, batch, length);
      EXPECT_LE(largest_error(pass->logits(), reference_logits(model, tokens, batch, length)),
                how == precision::fp32 ? 2e-6 : 3e-2)
          << batch << " x " << length;
    }
    EXPECT_EQ(calls.attention, 2 * of.layers);
    EXPECT_EQ(calls.products, how == precision::bf16 ? 2 * (4 * of.layers + 1) : 0);
  }
}

class written_down final : public lab::range_listener {
 public:
  void enter(std::string_view name, double flops, double) override {
    text += std::string(name) + (flops > 0 ? "! " : " ");
  }
  void leave() override { text += ". "; }
  std::string text;
};

TEST(Ranges, AreTheHandIns) {
  const checkpoint model = random_checkpoint(config_named("tiny"), 3);
  const std::vector<int> tokens = tokens_of(10);
  const std::vector<double> want = reference_logits(model, tokens, 2, 5);
  std::unique_ptr<pass> passes[] = {
      make_eigen_on_cpu(model), make_cuda(model, precision::fp32, handed_in()),
      make_cuda(model, precision::fp32,
                {.layer_norm = handed_in().layer_norm, .causal_softmax = handed_in().causal_softmax})};
  for (const auto& pass : passes) {
    written_down ranges;
    pass->load(tokens, 2, 5);
    lab::range_listener::current = &ranges;
    run_in_ranges(*pass);
    lab::range_listener::current = nullptr;
    EXPECT_LE(largest_error(pass->logits(), want), 2e-6);
    const bool fused = &pass == &passes[1] && handed_in().add_and_norm;
    const std::string residual = fused ? "" : "!";
    const std::string layer = "layer LayerNorm 1! . attention! . residual 1" + residual +
                              " . LayerNorm 2! . MLP! . residual 2" + residual + " . . ";
    EXPECT_EQ(ranges.text, "embedding! . " + layer + layer + "final LayerNorm! . logits! . ");
  }
}

}  // namespace
