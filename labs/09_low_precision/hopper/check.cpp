// Checks gemm_hopper: products against float64, for growing shapes; and that TMA copies and wgmma multiplies.
#include "hopper.hpp"
#include "lab/compare.hpp"
#include "lab/hopper_check.hpp"

namespace {

struct Product : lab::needs_hopper {};
struct Traffic : lab::needs_hopper {};

struct problem {
  int m, n, k;

  std::vector<float> a = lab::random_bf16(at(m, k), 1), b = lab::random_bf16(at(k, n), 2);
  lab::stream stream{};
  lab::device_buffer<lab09::bf16> from_a = lab::bf16_on_device(a), from_b = lab::bf16_on_device(b), to{at(m, n)};

  static std::size_t at(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
  void run() const { lab09::gemm_hopper(to.data(), from_a.data(), from_b.data(), m, n, k, stream.get()); }
};

/// The error of lab 09's products: sums in FP32 by tensor cores, which truncate, then one rounding to 8 bits.
void expect_product(int m, int n, int k) {
  SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
  const problem p{m, n, k};
  lab::checked([&] { p.run(); }, p.stream);
  EXPECT_EQ(lab::product_mismatch(p.a, p.b, lab::from_device(p.to), m, n, k, {8.0 * k * 0x1p-24, 0x1.02p-8}), "");
}

TEST_F(Product, OfOneTile) { expect_product(64, 256, 64); }
TEST_F(Product, OfTwoSteps) { expect_product(64, 256, 128); }
TEST_F(Product, OfManySteps) {
  for (const int k : {320, 1088}) expect_product(64, 256, k);
}
TEST_F(Product, OfSeveralTiles) { expect_product(384, 768, 128); }
TEST_F(Product, OfRaggedShapes) {
  expect_product(1, 8, 8);
  expect_product(65, 72, 24);
  expect_product(127, 264, 40);
  expect_product(129, 520, 1000);
}
TEST_F(Product, OfMoreTilesThanMultiprocessors) { expect_product(2304, 2048, 192); }

TEST_F(Traffic, IsLeftToTmaAndWgmma) {
  const problem p{512, 512, 256};
  auto counted = lab::checked_traffic([&] { p.run(); }, p.stream);
  EXPECT_EQ(counted.metrics[lab::operations], 2.0 * p.m * p.n * p.k) << "tiles are whole: no product is padded";
  // Blocks of 128 x 128 elements read A once for 128 columns, and B once for 128 rows; an element has two bytes.
  EXPECT_LE(counted.metrics[lab::tma_bytes], 2.0 * p.m * p.n * p.k * (1.0 / 128 + 1.0 / 128));
  EXPECT_GE(counted.metrics[lab::tma_bytes], 2.0 * p.k * (p.m + p.n));
}

}  // namespace
