// Checks each row of attention_hopper and its lse against float64, and that TMA copies and wgmma multiplies.
#include <algorithm>
#include <cmath>

#include "hopper.hpp"
#include "lab/hopper_check.hpp"

namespace {

struct Attention : lab::needs_hopper {};
struct Traffic : lab::needs_hopper {};

struct problem {
  int heads, tokens;
  bool causal = false;
  std::size_t size = 128;
  float spread = 1;  // of the scores

  std::size_t rows = static_cast<std::size_t>(heads) * static_cast<std::size_t>(tokens);
  std::vector<float> q = scaled(lab::random_bf16(rows * size, 1), spread), k = lab::random_bf16(rows * size, 2),
                     v = lab::random_bf16(rows * size, 3);
  lab::stream stream{};
  lab::device_buffer<lab11::bf16> from_q = lab::bf16_on_device(q), from_k = lab::bf16_on_device(k),
                                  from_v = lab::bf16_on_device(v), out{rows * size};
  lab::device_buffer<float> lse{rows};

  static std::vector<float> scaled(std::vector<float> x, float by) {
    for (float& one : x) one *= by;
    return x;
  }
  void run() const {
    lab11::attention_hopper(out.data(), lse.data(), from_q.data(), from_k.data(), from_v.data(), heads, tokens,
                            static_cast<int>(size), causal, stream.get());
  }
};

/// The largest error of a row's elements, and the error of its lse.
std::pair<double, double> errors(const problem& p, std::size_t row, const float* out, float lse) {
  const auto tokens = static_cast<std::size_t>(p.tokens), head = row - row % tokens, size = p.size;
  const std::size_t seen = p.causal ? row % tokens + 1 : tokens;
  std::vector<double> weights(seen), sums(size);
  double most = -INFINITY, sum = 0;
  for (std::size_t j = 0; j < seen; ++j) {
    for (std::size_t c = 0; c < size; ++c)
      weights[j] += static_cast<double>(p.q[row * size + c]) * static_cast<double>(p.k[(head + j) * size + c]);
    most = std::max(most, weights[j] /= std::sqrt(static_cast<double>(size)));
  }
  for (double& one : weights) sum += one = std::exp(one - most);
  for (std::size_t j = 0; j < seen; ++j)
    for (std::size_t c = 0; c < size; ++c)
      sums[c] += weights[j] / sum * static_cast<double>(p.v[(head + j) * size + c]);
  double worst = 0;
  for (std::size_t c = 0; c < size; ++c) {
    const double e = std::abs(sums[c] - static_cast<double>(out[c]));
    worst = std::isnan(e) ? INFINITY : std::max(worst, e);
  }
  const double e = std::abs(most + std::log(sum) - static_cast<double>(lse));
  return {worst, std::isnan(e) ? INFINITY : e};
}

/// Weights and the result are rounded to 8 bits each, scores and lse to 24.
void expect_attention(const problem& p) {
  SCOPED_TRACE(testing::Message() << p.heads << " x " << p.tokens << " x " << p.size << (p.causal ? ", causal" : ""));
  lab::checked([&] { p.run(); }, p.stream);
  EXPECT_TRUE(p.lse.intact()) << "written past an end of lse";
  const std::vector<float> out = lab::from_device(p.out);
  std::vector<float> lse(p.rows);
  LAB_CUDA_CHECK(cudaMemcpy(lse.data(), p.lse.data(), p.lse.bytes(), cudaMemcpyDeviceToHost));
  double worst = 0, worst_lse = 0;
  for (std::size_t row = 0; row < p.rows; ++row) {
    const auto [e, e_lse] = errors(p, row, &out[row * p.size], lse[row]);
    worst = std::max(worst, e);
    worst_lse = std::max(worst_lse, e_lse);
  }
  EXPECT_LE(worst, 0.006);
  EXPECT_LE(worst_lse, 1e-5 * static_cast<double>(p.spread));
}

TEST_F(Attention, OfOneTile) { expect_attention({1, 128}); }
TEST_F(Attention, OfSeveralTiles) { expect_attention({2, 512}); }
TEST_F(Attention, OfRaggedTiles) {
  for (const int tokens : {1, 65, 200, 300}) expect_attention({2, tokens});
}
TEST_F(Attention, BehindTheMask) {
  for (const int tokens : {1, 65, 256, 300}) expect_attention({2, tokens, true});
}
TEST_F(Attention, OfLargeScores) { expect_attention({1, 300, true, 128, 64}); }
TEST_F(Attention, OfManyHeads) { expect_attention({140, 70}); }
TEST_F(Attention, OfHeadsOf64) {
  for (const int tokens : {1, 65, 191, 193, 512})
    for (const bool causal : {false, true}) expect_attention({2, tokens, causal, 64});
  expect_attention({1, 300, true, 64, 64});
  expect_attention({140, 70, false, 64});
}

void expect_traffic(const problem& p) {
  auto counted = lab::checked_traffic([&] { p.run(); }, p.stream);
  const double tokens = p.tokens, columns = static_cast<double>(p.size);
  EXPECT_EQ(counted.metrics[lab::operations], 2 * 4 * tokens * tokens * columns) << "two products of each head";
  // Queries once; keys and values once per 64 or more queries.
  const double array = 2 * 2 * tokens * columns;
  EXPECT_LE(counted.metrics[lab::tma_bytes], array + 2 * array * tokens / 64);
  EXPECT_GE(counted.metrics[lab::tma_bytes], 3 * array);
}

TEST_F(Traffic, IsLeftToTmaAndWgmma) { expect_traffic({2, 512}); }
TEST_F(Traffic, IsLeftToThemWithHeadsOf64) { expect_traffic({2, 768, false, 64}); }

TEST_F(Traffic, IsLessBehindTheMask) {
  const problem p{2, 512, true};
  auto counted = lab::checked_traffic([&] { p.run(); }, p.stream);
  // With 128 queries and keys at a time, 10 of 16 tiles.
  EXPECT_LE(counted.metrics[lab::operations], 2 * 4.0 * 512 * 512 * 128 * 10 / 16);
}

}  // namespace
