// Lab 06's problems: sizes, seeded inputs, what must come out, and how much work that is.
#include <lab/case.hpp>
#include <lab/compare.hpp>

#include <cmath>
#include <string>
#include <utility>

namespace {

using lab::buffer;
using lab::dtype;
using lab::test_case;
using std::int64_t;

struct shape {
  int64_t m, n, k;
};

std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

/// Each of the k additions rounds a partial sum, off by at most 2^-24 of it. With entries from [-1, 1) partial sums
/// grow like sqrt(k) / 3 and errors have random signs; the largest seen of 65,536 sums was 1.2 k 2^-24, and 4 are
/// allowed. tf32 is off by 2^-12 for a single product already.
double allowed_for(int64_t k) { return 4 * static_cast<double>(k) * 0x1p-24; }

std::string sizes(const shape& s) {
  return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
}

/// Elements of A and B are below 2^exponent and 2^-exponent.
test_case multiply(std::string entry, const shape& s, int exponent = 0) {
  test_case result;
  result.id = entry + "/" + sizes(s) + (exponent != 0 ? "-wide" : "");
  result.where = entry == "gemm" ? lab::part::host : lab::part::device;
  result.entry = std::move(entry);
  result.parameters = {s.m, s.n, s.k};
  result.outputs = {{dtype::f32, s.m * s.n}};
  result.inputs = [=](std::uint64_t seed) {
    std::vector<float> a = lab::random_floats(at(s.m * s.k), seed), b = lab::random_floats(at(s.k * s.n), seed + 1);
    for (float& one : a) one = std::ldexp(one, exponent);
    for (float& one : b) one = std::ldexp(one, -exponent);
    return std::vector{buffer::of(a), buffer::of(b)};
  };
  result.check = [s](std::span<const buffer> before, std::span<const buffer> outputs) {
    return lab::product_mismatch(before[0].as<float>(), before[1].as<float>(), outputs[0].as<float>(), s.m, s.n, s.k,
                                 {allowed_for(s.k), 0.0});
  };
  result.work.bytes = 4.0 * static_cast<double>(s.m * s.k + s.k * s.n + s.m * s.n);
  result.work.flops = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  return result;
}

constexpr const char* entries[] = {"sgemm_naive",      "sgemm_coalesced", "sgemm_tiled",     "sgemm_1d", "sgemm_2d",
                                   "sgemm_vectorized", "sgemm_pipelined", "sgemm_warptiled", "sgemm",    "gemm"};

std::vector<test_case> cases() {
  std::vector<test_case> all;
  // 1, primes, one below and one above the tiles' widths, vectors, depths that no tile divides; all sides
  // but one divided, and no more than one step along k; 4 above 8 of the widest tiles, where a grid counted with a tile
  // one wider lacks a block; and one deeper than twice the counted one, of which no tile divides a side.
  const shape shapes[] = {{1, 1, 1},      {1, 37, 5},     {37, 1, 3},     {5, 7, 1},       {31, 33, 32},
                          {33, 31, 9},    {64, 64, 64},   {65, 63, 17},   {129, 127, 31},  {128, 128, 8},
                          {128, 4, 12},   {20, 260, 36},  {257, 131, 20}, {256, 256, 256}, {128, 256, 4},
                          {128, 256, 16}, {100, 256, 16}, {128, 132, 16}, {20, 64, 7},     {4, 1028, 8},
                          {1028, 4, 8},   {66, 70, 606}};
  for (const char* entry : entries)
    for (const shape& s : shapes) all.push_back(multiply(entry, s));
  for (const shape& s : {shape{66'000, 3, 2}, {3, 66'000, 2}})  // more rows, and columns, than a grid has in y
    all.push_back(multiply("sgemm_coalesced", s));
  all.push_back(multiply("gemm", {97, 130, 1000}));                             // several strips along k
  for (const shape& s : {shape{7, 5, 30'000}, {7, 30'000, 5}, {30'000, 7, 5}})  // one side beyond any fixed buffer
    all.push_back(multiply("gemm", s));
  all.push_back(timed(multiply("sgemm", {4096, 4096, 4096})));
  all.push_back(timed(multiply("sgemm", {8192, 8192, 8192})));
  all.push_back(timed(multiply("gemm", {768, 768, 768})));
  return all;
}

/// Sizes that no one could have prepared for.
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes size(seed);
  std::vector<test_case> all;
  const shape some{size(2, 200), size(2, 200), size(2, 80)}, wide{size(2, 99), size(2, 99), size(2, 50)};
  // More than any case above has.
  const shape tall{size(1029, 1400), size(1, 9), size(1, 9)}, broad{tall.n, tall.m, tall.k},
      deep{tall.n, tall.k, size(607, 1200)};
  // Whole tiles, where counters are counted.
  const shape whole{128 * size(1, 2), 256, 64 * size(5, 7)};
  for (const std::string entry : entries) {
    for (const shape& s : {some, tall, broad, deep}) all.push_back(multiply(entry, s));
    all.push_back(multiply(entry, wide, entry == "gemm" ? -60 : 60));
    if (entry != "gemm" && entry != "sgemm_naive") all.push_back(like(entry + "/256x256x256", multiply(entry, whole)));
  }
  const int64_t most = size(30'001, 40'000);
  for (const shape& s : {shape{2, 3, most}, {2, most, 3}, {most, 2, 3}}) all.push_back(multiply("gemm", s));
  return all;
}

const lab::case_registration registration{"06_tiling", cases, drawn_cases};

}  // namespace
