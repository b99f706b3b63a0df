// Lab 06's problems: sizes, seeded inputs, what must come out, and how much work that is.
#include <lab/case.hpp>
#include <lab/compare.hpp>

#include <cmath>
#include <limits>
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

// ---- blas.cu
// ---------------------------------------------------------------------------------------------------------

/// A matrix in a buffer: element (r, c) is at first + r * row_step + c * column_step.
struct matrix {
  int64_t first, row_step, column_step;
  std::size_t operator()(int64_t r, int64_t c) const { return at(first + r * row_step + c * column_step); }
};
matrix stored(int64_t rows, int64_t columns, bool transposed) {
  return transposed ? matrix{0, 1, rows} : matrix{0, columns, 1};
}

/// One of the products that a call computes: C = alpha A B + beta C, each with elements of its own buffer.
struct product_of {
  shape s;
  matrix a, b, c;
  double alpha = 1, beta = 0;

  void add_to(std::vector<float>& want, std::span<const float> in_a, std::span<const float> in_b) const {
    for (int64_t row = 0; row < s.m; ++row)
      for (int64_t column = 0; column < s.n; ++column) {
        double sum = 0;
        for (int64_t i = 0; i < s.k; ++i) sum += static_cast<double>(in_a[a(row, i)]) * in_b[b(i, column)];
        float& one = want[c(row, column)];
        one = static_cast<float>(alpha * sum + (beta == 0 ? 0.0 : beta * one));
      }
  }
  double allowed() const { return allowed_for(s.k + 1) * (std::abs(alpha) + std::abs(beta)); }
};

test_case library_call(std::string entry, const std::string& sizes_text, std::vector<int64_t> parameters) {
  test_case result;
  result.id = entry + "/" + sizes_text;
  result.entry = std::move(entry);
  result.parameters = std::move(parameters);
  return result;
}

test_case library_product(const shape& s, bool a_is_transposed, bool b_is_transposed) {
  test_case result =
      library_call("blas_product", sizes(s) + "-" + (a_is_transposed ? "t" : "n") + (b_is_transposed ? "t" : "n"),
                   {s.m, s.n, s.k, a_is_transposed, b_is_transposed});
  result.outputs = {{dtype::f32, s.m * s.n}};
  result.inputs = [=](std::uint64_t seed) {
    return std::vector{buffer::of(lab::random_floats(at(s.m * s.k), seed)),
                       buffer::of(lab::random_floats(at(s.k * s.n), seed + 1))};
  };
  const product_of what{s, stored(s.m, s.k, a_is_transposed), stored(s.k, s.n, b_is_transposed),
                        stored(s.m, s.n, false)};
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    std::vector<float> want(at(s.m * s.n));
    what.add_to(want, before[0].as<float>(), before[1].as<float>());
    return lab::mismatch(outputs[0].as<float>(), want, {what.allowed(), 0.0}, at(s.n));
  };
  return result;
}

/// How much of the whole matrix is around a block.
struct margins {
  int64_t above, left, below, right;
};

/// The third input is what C's whole matrix holds at first. If beta is 0, its block holds NaN.
test_case library_block(const shape& s, int64_t alpha_eighths, int64_t beta_eighths, const margins& of_a,
                        const margins& of_b, const margins& of_c) {
  struct whole {
    int64_t rows, columns;
    matrix block;
  };
  const auto around = [](const margins& m, int64_t rows, int64_t columns) {
    const int64_t width = m.left + columns + m.right;
    return whole{m.above + rows + m.below, width, {m.above * width + m.left, width, 1}};
  };
  const whole a = around(of_a, s.m, s.k), b = around(of_b, s.k, s.n), c = around(of_c, s.m, s.n);
  test_case result = library_call(
      "blas_block", sizes(s) + "-" + std::to_string(alpha_eighths) + "_" + std::to_string(beta_eighths) + "_eighths",
      {s.m, s.n, s.k, alpha_eighths, beta_eighths, a.columns, of_a.above, of_a.left, b.columns, of_b.above, of_b.left,
       c.columns, of_c.above, of_c.left, c.rows});
  result.outputs = {{dtype::f32, c.rows * c.columns}};
  const product_of what{
      s, a.block, b.block, c.block, static_cast<double>(alpha_eighths) / 8, static_cast<double>(beta_eighths) / 8};
  result.inputs = [=](std::uint64_t seed) {
    std::vector<float> old = lab::random_floats(at(c.rows * c.columns), seed + 2);
    for (int64_t row = 0; row < s.m; ++row)
      for (int64_t column = 0; column < s.n; ++column)
        if (what.beta == 0) old[what.c(row, column)] = std::numeric_limits<float>::quiet_NaN();
    return std::vector{buffer::of(lab::random_floats(at(a.rows * a.columns), seed)),
                       buffer::of(lab::random_floats(at(b.rows * b.columns), seed + 1)), buffer::of(old)};
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto old = before[2].as<float>();
    std::vector<float> want(old.begin(), old.end());
    what.add_to(want, before[0].as<float>(), before[1].as<float>());
    return lab::mismatch(outputs[0].as<float>(), want, {what.allowed(), 0.0}, at(c.columns));
  };
  return result;
}

struct attention_shape {
  int64_t tokens, heads, head_dim;
};
enum of_token : std::uint8_t { query, key, value };

/// A head's part of qkv, (tokens, 3, heads, head_dim).
matrix part_of(const attention_shape& s, of_token which, int64_t head) {
  return {(which * s.heads + head) * s.head_dim, 3 * s.heads * s.head_dim, 1};
}
matrix transposed(const matrix& m) { return {m.first, m.column_step, m.row_step}; }

test_case library_scores(const attention_shape& s) {
  test_case result =
      library_call("blas_scores", sizes({s.tokens, s.heads, s.head_dim}), {s.tokens, s.heads, s.head_dim});
  const int64_t one_head = s.tokens * s.tokens;
  result.outputs = {{dtype::f32, s.heads * one_head}};
  result.inputs = [=](std::uint64_t seed) {
    return std::vector{buffer::of(lab::random_floats(at(s.tokens * 3 * s.heads * s.head_dim), seed))};
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    std::vector<float> want(outputs[0].as<float>().size());
    const auto qkv = before[0].as<float>();
    for (int64_t h = 0; h < s.heads; ++h)
      product_of{{s.tokens, s.tokens, s.head_dim},
                 part_of(s, query, h),
                 transposed(part_of(s, key, h)),
                 {h * one_head, s.tokens, 1},
                 1 / std::sqrt(static_cast<double>(s.head_dim))}
          .add_to(want, qkv, qkv);
    return lab::mismatch(outputs[0].as<float>(), want, {allowed_for(s.head_dim + 1), 0.0}, at(s.tokens));
  };
  return result;
}

test_case library_mix(const attention_shape& s) {
  test_case result = library_call("blas_mix", sizes({s.tokens, s.heads, s.head_dim}), {s.tokens, s.heads, s.head_dim});
  const int64_t one_head = s.tokens * s.tokens, width = s.heads * s.head_dim;
  result.outputs = {{dtype::f32, s.tokens * width}};
  result.inputs = [=](std::uint64_t seed) {
    return std::vector{buffer::of(lab::random_floats(at(s.heads * one_head), seed)),
                       buffer::of(lab::random_floats(at(s.tokens * 3 * width), seed + 1))};
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    std::vector<float> want(at(s.tokens * width));
    for (int64_t h = 0; h < s.heads; ++h)
      product_of{{s.tokens, s.head_dim, s.tokens},
                 {h * one_head, s.tokens, 1},
                 part_of(s, value, h),
                 {h * s.head_dim, width, 1}}
          .add_to(want, before[0].as<float>(), before[1].as<float>());
    return lab::mismatch(outputs[0].as<float>(), want, {allowed_for(s.tokens + 1), 0.0}, at(width));
  };
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
  for (const shape& s : {shape{1, 1, 1}, {1, 37, 5}, {37, 1, 3}, {5, 7, 3}, {33, 65, 17}})
    for (const bool a : {false, true})
      for (const bool b : {false, true}) all.push_back(library_product(s, a, b));
  for (const margins& m : {margins{0, 0, 0, 0}, {2, 3, 1, 4}}) {
    const bool alone = m.above == 0;
    all.push_back(library_block(alone ? shape{1, 1, 1} : shape{1, 9, 2}, 8, 0, m, m, m));
    all.push_back(library_block(alone ? shape{5, 7, 3} : shape{6, 4, 9}, -12, 8, m, {m.left, m.below, 0, m.above},
                                {0, m.below, m.left, 0}));
  }
  for (const attention_shape& s : {attention_shape{1, 1, 1}, {5, 1, 3}, {3, 4, 1}, {7, 3, 5}, {17, 2, 16}}) {
    all.push_back(library_scores(s));
    all.push_back(library_mix(s));
  }
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
  for (const bool a : {false, true})
    for (const bool b : {false, true}) all.push_back(library_product({size(2, 90), size(2, 90), size(2, 90)}, a, b));
  for (const int64_t beta : {int64_t{0}, int64_t{8}, size(-24, -1)}) {
    const auto around = [&] { return margins{size(0, 9), size(1, 9), size(0, 9), size(1, 9)}; };
    all.push_back(
        library_block({size(2, 90), size(2, 90), size(2, 90)}, size(9, 40), beta, around(), around(), around()));
  }
  const attention_shape some_heads{size(9, 60), size(2, 8), size(2, 40)},
      more_heads{size(2, 9), size(9, 20), size(41, 64)};
  for (const attention_shape& s : {some_heads, more_heads}) {
    all.push_back(library_scores(s));
    all.push_back(library_mix(s));
  }
  return all;
}

const lab::case_registration registration{"06_tiling", cases, drawn_cases};

}  // namespace
