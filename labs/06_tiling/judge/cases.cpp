// Lab 06's problems: sizes, seeded inputs, expected results, and how much work they take.
#include <lab/case.hpp>
#include <lab/compare.hpp>
#include <lab/figures.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "question.hpp"

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
/// grow like sqrt(k) / 3 and errors have random signs. The largest error of 65,536 sums was 1.2 k 2^-24; 4 k 2^-24 is
/// allowed. tf32 is already off by 2^-12 in a single product.
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
    return lab::buffers(std::move(a), std::move(b));
  };
  result.check = [s](std::span<const buffer> before, std::span<const buffer> outputs) {
    return lab::product_mismatch(before[0].as<float>(), before[1].as<float>(), outputs[0].as<float>(), s.m, s.n, s.k,
                                 {allowed_for(s.k), 0.0});
  };
  result.work.bytes = 4.0 * static_cast<double>(s.m * s.k + s.k * s.n + s.m * s.n);
  result.work.flops = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  return result;
}

// ---- blas.cu --------------------------------------------------------------------------------------------------------

/// A matrix in a buffer: element (r, c) is at first + r * row_step + c * column_step.
struct matrix {
  int64_t first, row_step, column_step;
  std::size_t operator()(int64_t r, int64_t c) const { return at(first + r * row_step + c * column_step); }
};
matrix stored(int64_t rows, int64_t columns, bool is_transposed) {
  return is_transposed ? matrix{0, 1, rows} : matrix{0, columns, 1};
}
matrix transposed(const matrix& x) { return {x.first, x.column_step, x.row_step}; }

/// A call to cuBLAS: C = alpha A B + beta C, for one or more matrices in the same buffers.
struct library_product {
  shape s;
  std::vector<matrix> a = {}, b = {}, c = {};
  double alpha = 1, beta = 0;
  std::vector<int64_t> inputs;  ///< elements of A and of B, or of one buffer for both; and of C's initial contents
  int64_t output, columns;      ///< elements in total, and per row
};

/// If C is an input and beta is 0, the elements that the product overwrites start as NaN.
test_case library_call(std::string entry, const std::string& text, std::vector<int64_t> parameters,
                       const library_product& what) {
  test_case result;
  result.id = entry + "/" + text;
  result.entry = std::move(entry);
  result.parameters = std::move(parameters);
  result.outputs = {{dtype::f32, what.output}};
  const bool has_c = what.inputs.size() == 3;
  result.inputs = [=](std::uint64_t seed) {
    std::vector<buffer> all;
    for (const int64_t elements : what.inputs) {
      std::vector<float> values = lab::random_floats(at(elements), seed + all.size());
      for (int64_t i = 0; i < what.s.m * what.s.n && all.size() == 2 && what.beta == 0; ++i)
        values[what.c[0](i / what.s.n, i % what.s.n)] = std::numeric_limits<float>::quiet_NaN();
      all.push_back(buffer::of(values));
    }
    return all;
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto a = before.front().as<float>(), b = before[before.size() > 1 ? 1 : 0].as<float>();
    std::vector<float> want(at(what.output));
    if (has_c) want.assign(before[2].as<float>().begin(), before[2].as<float>().end());
    for (std::size_t one = 0; one < what.c.size(); ++one)
      for (int64_t row = 0; row < what.s.m; ++row)
        for (int64_t column = 0; column < what.s.n; ++column) {
          double sum = 0;
          for (int64_t i = 0; i < what.s.k; ++i)
            sum += static_cast<double>(a[what.a[one](row, i)]) * b[what.b[one](i, column)];
          float& c = want[what.c[one](row, column)];
          c = static_cast<float>(what.alpha * sum + (what.beta == 0 ? 0.0 : what.beta * c));
        }
    const double allowed = allowed_for(what.s.k + 1) * (std::abs(what.alpha) + std::abs(what.beta));
    return lab::mismatch(outputs[0].as<float>(), want, {allowed, 0.0}, at(what.columns));
  };
  return result;
}

test_case product(const shape& s, bool a_is_transposed, bool b_is_transposed) {
  return library_call("blas_product", sizes(s) + "-" + (a_is_transposed ? "t" : "n") + (b_is_transposed ? "t" : "n"),
                      {s.m, s.n, s.k, a_is_transposed, b_is_transposed},
                      {.s = s,
                       .a = {stored(s.m, s.k, a_is_transposed)},
                       .b = {stored(s.k, s.n, b_is_transposed)},
                       .c = {stored(s.m, s.n, false)},
                       .inputs = {s.m * s.k, s.k * s.n},
                       .output = s.m * s.n,
                       .columns = s.n});
}

/// The rows and columns of the whole matrix around a block.
struct margins {
  int64_t above, left, below, right;
};

test_case block(const shape& s, int64_t alpha_eighths, int64_t beta_eighths, const margins& of_a, const margins& of_b,
                const margins& of_c) {
  struct whole {
    whole(const margins& m, int64_t block_rows, int64_t block_columns)
        : columns(m.left + block_columns + m.right),
          elements((m.above + block_rows + m.below) * columns),
          block{m.above * columns + m.left, columns, 1} {}
    int64_t columns, elements;
    matrix block;
  };
  const whole a(of_a, s.m, s.k), b(of_b, s.k, s.n), c(of_c, s.m, s.n);
  return library_call("blas_block",
                      sizes(s) + "-" + std::to_string(alpha_eighths) + "_" + std::to_string(beta_eighths) + "_eighths",
                      {s.m, s.n, s.k, alpha_eighths, beta_eighths, a.columns, of_a.above, of_a.left, b.columns,
                       of_b.above, of_b.left, c.columns, of_c.above, of_c.left, c.elements},
                      {.s = s,
                       .a = {a.block},
                       .b = {b.block},
                       .c = {c.block},
                       .alpha = static_cast<double>(alpha_eighths) / 8,
                       .beta = static_cast<double>(beta_eighths) / 8,
                       .inputs = {a.elements, b.elements, c.elements},
                       .output = c.elements,
                       .columns = c.columns});
}

/// blas_scores and blas_mix.
void add_attention(std::vector<test_case>& all, int64_t tokens, int64_t heads, int64_t head_dim) {
  const int64_t width = heads * head_dim, of_head = tokens * tokens;
  library_product scores{.s = {tokens, tokens, head_dim},
                         .alpha = 1 / std::sqrt(static_cast<double>(head_dim)),
                         .inputs = {tokens * 3 * width},
                         .output = heads * of_head,
                         .columns = tokens};
  library_product mix{.s = {tokens, head_dim, tokens},
                      .inputs = {heads * of_head, tokens * 3 * width},
                      .output = tokens * width,
                      .columns = width};
  for (int64_t h = 0; h < heads; ++h) {
    const auto of_qkv = [&](int64_t part) { return matrix{part * width + h * head_dim, 3 * width, 1}; };
    scores.a.push_back(of_qkv(0));
    scores.b.push_back(transposed(of_qkv(1)));
    scores.c.push_back({h * of_head, tokens, 1});
    mix.a.push_back(scores.c.back());
    mix.b.push_back(of_qkv(2));
    mix.c.push_back({h * head_dim, width, 1});
  }
  const std::string text = sizes({tokens, heads, head_dim});
  all.push_back(library_call("blas_scores", text, {tokens, heads, head_dim}, scores));
  all.push_back(library_call("blas_mix", text, {tokens, heads, head_dim}, mix));
}

// ---- tune.cpp -------------------------------------------------------------------------------------------------------

using lab06::configuration;
using lab06::limits;

std::vector<configuration> configurations() {
  std::vector<configuration> all;
  for (const int bm : lab06::sides)
    for (const int bn : lab06::sides)
      for (const int bk : lab06::depths)
        for (const int tm : lab06::thread_sides)
          for (const int tn : lab06::thread_sides) all.push_back({bm, bn, bk, tm, tn});
  return all;
}

std::string named(const configuration& c) {
  return std::to_string(c.bm) + " x " + std::to_string(c.bn) + " x " + std::to_string(c.bk) + ", " +
         std::to_string(c.tm) + " x " + std::to_string(c.tn) + " per thread";
}

struct needs {
  explicit needs(const configuration& c)
      : threads(c.bm / c.tm * (c.bn / c.tn)),
        registers((c.tm * c.tn + 2 * (c.tm + c.tn) + 32 + 7) / 8 * 8),
        shared_bytes(2 * 4 * c.bk * (c.bm + c.bn)) {}
  int threads, registers, shared_bytes;
  bool fit(const limits& of) const {
    return threads % 32 == 0 && threads <= 1024 && registers <= 255 && threads * registers <= of.registers &&
           shared_bytes <= of.shared_bytes;
  }
};

test_case fits(int shared_bytes, int registers) {
  test_case result;
  result.id = "fits/" + std::to_string(shared_bytes) + "-" + std::to_string(registers);
  result.entry = "fits";
  result.where = lab::part::host;
  result.parameters = {shared_bytes, registers};
  result.outputs = {{dtype::u8, std::ssize(configurations())}};
  result.inputs = [](std::uint64_t) { return std::vector<buffer>(); };
  result.check = [of = limits{shared_bytes, registers}](std::span<const buffer>, std::span<const buffer> outputs) {
    const auto got = outputs[0].as<std::uint8_t>();
    const std::vector<configuration> all = configurations();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (const needs n(all[i]); (got[i] != 0) != n.fit(of))
        return named(all[i]) + (n.fit(of) ? " fits" : " does not fit") + ": " + std::to_string(n.threads) +
               " threads of " + std::to_string(n.registers) + " registers, " + std::to_string(n.shared_bytes) +
               " bytes of shared memory";
    return std::string();
  };
  return result;
}

/// A random GPU and product, and a model of the time of each configuration. Each GPU has a different balance of
/// arithmetic, shared memory and DRAM, so the best configuration differs, too.
class landscape {
 public:
  explicit landscape(std::uint64_t seed) : random_(seed) {
    constexpr int shared[] = {48 << 10, 100 << 10, 164 << 10, 227 << 10};
    of.shared_bytes = shared[random_() % std::size(shared)];
    m_ = spread(300, 6000), n_ = spread(300, 6000), k_ = spread(256, 4096);
    multiprocessors_ = spread(16, 140);
    bytes_per_cycle_ = spread(4, 24);  // of DRAM and L2, for one multiprocessor
    latency_ = spread(400, 1000), barrier_ = spread(20, 120);
    wobble_ = random_();
  }

  double seconds(const configuration& c) const {
    const needs n(c);
    const double blocks = std::ceil(m_ / c.bm) * std::ceil(n_ / c.bn);
    const double resident = std::min({static_cast<double>(of.shared_bytes / n.shared_bytes),
                                      static_cast<double>(of.registers / (n.threads * n.registers)),
                                      static_cast<double>(2048 / n.threads), std::ceil(blocks / multiprocessors_)});
    const double waves = std::ceil(blocks / (multiprocessors_ * resident));
    // Cycles of a multiprocessor for the tiles of one step.
    const double arithmetic = resident * c.bm * c.bn * c.bk / 128.0;
    const double shared = resident * n.threads / 32 * c.bk * (c.tm + c.tn) / 2.0;
    const double global = resident * 4.0 * c.bk * (c.bm + c.bn) / bytes_per_cycle_;
    const double busy = std::max({arithmetic, shared, global}) + std::min(arithmetic, shared) / 4;
    const double independent = resident * n.threads / 32 * c.tm * c.tn;  // independent multiply-adds
    const double step = busy / std::pow(std::min(1.0, independent / 512), 0.7) + barrier_ / resident +
                        std::max(0.0, latency_ - busy) / 2;
    const double cycles = waves * (std::ceil(k_ / c.bk) * step + 2 * latency_ + 8 * c.tm * c.tn);
    std::uint64_t hash = wobble_;  // a part that no model predicts: up to 4 %
    for (const int size : {c.bm, c.bn, c.bk, c.tm, c.tn})
      hash = lab::derived_seed(hash, "wobble", static_cast<std::uint64_t>(size));
    return cycles * (1 + 0.04 * static_cast<double>(hash >> 11) * 0x1p-53) / 1.5e9;
  }

  double least() const {
    double result = std::numeric_limits<double>::infinity();
    for (const configuration& c : configurations())
      if (needs(c).fit(of)) result = std::min(result, seconds(c));
    return result;
  }

  limits of{0, 65536};

 private:
  /// Log-uniform: each doubling is equally likely.
  double spread(double least, double most) {
    return std::round(least * std::pow(most / least, static_cast<double>(random_() >> 11) * 0x1p-53));
  }

  std::mt19937_64 random_;
  double m_, n_, k_, multiprocessors_, bytes_per_cycle_, latency_, barrier_;
  std::uint64_t wobble_;
};

/// Measures for the submission, whose memory holds neither the landscapes nor the number of calls.
class measurements : public lab::oracle {
 public:
  measurements(std::uint64_t seed, std::int64_t landscapes, std::int64_t most)
      : seed_(seed), landscapes_(landscapes), most_(most) {}

  void answer(std::span<std::byte> bytes) override {
    lab06::question asked;
    std::memcpy(&asked, bytes.data(), sizeof asked);
    if (asked.what == lab06::question::next) {
      now_ = std::make_unique<landscape>(lab::derived_seed(seed_, "landscape", static_cast<std::uint64_t>(done_)));
      left_ = most_;
      if (most_ < 32) now_->of.registers = 32768;  // the cases that only ask what fits
      asked.of = now_->of;
    } else if (now_) {
      const std::vector<configuration> all = configurations();
      const bool known = std::any_of(
          all.begin(), all.end(), [&](const configuration& c) { return std::memcmp(&c, &asked.tried, sizeof c) == 0; });
      const bool fit = known && needs(asked.tried).fit(now_->of);
      asked.seconds = fit ? now_->seconds(asked.tried) : std::numeric_limits<double>::quiet_NaN();
      if (asked.what == lab06::question::time && left_-- == 0)
        complain("measures more than " + std::to_string(most_) + " times");
      if (!fit)
        complain((asked.what == lab06::question::time ? "measures " : "returns ") + named(asked.tried) +
                 (known ? ", which does not fit" : ", which is no configuration"));
      if (asked.what == lab06::question::found) {
        ++done_;
        if (fit) loss_ += 100 * (asked.seconds / now_->least() - 1) / static_cast<double>(landscapes_);
        now_.reset();
        asked.seconds = loss_;
      }
    }
    std::memcpy(bytes.data(), &asked, sizeof asked);
  }

  /// The number of landscapes done; how much slower than the best the results are on average, in percent; and the
  /// errors, as text.
  buffer account() const override {
    std::vector<double> all{static_cast<double>(done_), loss_};
    for (const char letter : wrong_) all.push_back(letter);
    return buffer::of(all);
  }

 private:
  void complain(std::string text) {
    if (wrong_.empty()) wrong_ = std::move(text);
  }

  std::uint64_t seed_;
  std::int64_t landscapes_, most_, left_ = 0, done_ = 0;
  double loss_ = 0;
  std::unique_ptr<landscape> now_;
  std::string wrong_;
};

test_case tune(std::int64_t landscapes, std::int64_t most) {
  test_case result;
  result.id = "tune/" + std::to_string(landscapes) + "-" + std::to_string(most);
  result.entry = "tune";
  result.where = lab::part::host;
  result.parameters = {landscapes, most};
  result.outputs = {{dtype::f64, 1}, {dtype::u8, static_cast<int64_t>(sizeof(lab06::question))}};
  result.inputs = [](std::uint64_t) { return std::vector<buffer>(); };
  result.oracle = [=](std::uint64_t seed) { return std::make_unique<measurements>(seed, landscapes, most); };
  result.check = [=](std::span<const buffer>, std::span<const buffer> outputs) {
    const auto account = outputs.back().as<double>();
    if (account.size() > 2) return std::string(account.begin() + 2, account.end());
    if (account[0] != static_cast<double>(landscapes)) return std::string("was not asked about all landscapes");
    return std::string(outputs[0].as<double>()[0] == account[1] ? "" : "reports another loss than the judge measured");
  };
  return result;
}

constexpr const char* entries[] = {"sgemm_naive",      "sgemm_coalesced", "sgemm_tiled",     "sgemm_1d", "sgemm_2d",
                                   "sgemm_vectorized", "sgemm_pipelined", "sgemm_warptiled", "sgemm",    "gemm"};

/// Answers for given/listing.md. In PTX: loads from shared memory in one round of the inner loop; steps per round;
/// percent of its instructions that are multiply-adds. In SASS: multiply-adds that one wide load feeds; loads from
/// shared memory in the whole loop; the step whose data is loaded earliest; multiply-adds that can run at once.
std::vector<double> listing() { return {8, 4, 100.0 * 16 / 29, 4, 32 + 32 / 4, 0xb80 / 0x80, 1}; }

std::vector<test_case> cases() {
  std::vector<test_case> all;
  // 1, primes, one below and one above the tiles' widths, vectors, depths not divisible by a tile's; all sides
  // but one divisible, and at most one step along k; 4 more than 8 of the widest tiles, where a grid for tiles
  // that are one wider lacks a block; and one deeper than twice the counted one, with no side divisible by a tile's.
  const shape shapes[] = {{1, 1, 1},      {1, 37, 5},     {37, 1, 3},     {5, 7, 1},       {31, 33, 32},
                          {33, 31, 9},    {64, 64, 64},   {65, 63, 17},   {129, 127, 31},  {128, 128, 8},
                          {128, 4, 12},   {20, 260, 36},  {257, 131, 20}, {256, 256, 256}, {128, 256, 4},
                          {128, 256, 16}, {100, 256, 16}, {128, 132, 16}, {20, 64, 7},     {4, 1028, 8},
                          {1028, 4, 8},   {66, 70, 606}};
  for (const char* entry : entries)
    for (const shape& s : shapes) all.push_back(multiply(entry, s));
  // More rows and columns than a grid has blocks in y, also if a block has four rows.
  for (const shape& s : {shape{262'150, 1, 1}, {3, 66'000, 2}}) all.push_back(multiply("sgemm_coalesced", s));
  all.push_back(multiply("gemm", {97, 130, 1000}));                             // several strips along k
  for (const shape& s : {shape{7, 5, 30'000}, {7, 30'000, 5}, {30'000, 7, 5}})  // one side beyond any fixed buffer
    all.push_back(multiply("gemm", s));
  for (const shape& s : {shape{1, 1, 1}, {1, 37, 5}, {37, 1, 3}, {5, 7, 3}, {33, 65, 17}})
    for (const bool a : {false, true})
      for (const bool b : {false, true}) all.push_back(product(s, a, b));
  for (const shape& s : {shape{1, 1, 1}, {5, 7, 3}}) {
    all.push_back(block(s, 8, 0, {}, {}, {}));
    all.push_back(block(s, -12, 8, {2, 3, 1, 4}, {0, 1, 3, 0}, {1, 0, 2, 5}));
  }
  for (const shape& s : {shape{1, 1, 1}, {5, 1, 3}, {3, 4, 1}, {7, 3, 5}, {17, 2, 16}})
    add_attention(all, s.m, s.n, s.k);
  for (const int shared_bytes : {48 << 10, 100 << 10, 164 << 10, 227 << 10}) all.push_back(fits(shared_bytes, 65536));
  all.push_back(fits(227 << 10, 32768));
  for (const int64_t most : {1, 2, 7}) all.push_back(tune(20, most));
  all.push_back(tune(200, 32));
  all.push_back(lab::figures_case("figures/listing", listing));
  all.push_back(timed(multiply("sgemm", {4096, 4096, 4096})));
  all.push_back(timed(multiply("sgemm", {8192, 8192, 8192})));
  all.push_back(timed(multiply("gemm", {768, 768, 768})));
  return all;
}

/// Random sizes: no submission can prepare for them.
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes size(seed);
  std::vector<test_case> all;
  const shape some{size(2, 200), size(2, 200), size(2, 80)}, wide{size(2, 99), size(2, 99), size(2, 50)};
  // Larger than any case above.
  const shape tall{size(1029, 1400), size(1, 9), size(1, 9)}, broad{tall.n, tall.m, tall.k},
      deep{tall.n, tall.k, size(607, 700)};
  // Cases whose counters are read: whole tiles.
  const shape whole{128 * size(1, 2), 256, 32 * size(5, 7)};
  for (const std::string entry : entries) {
    for (const shape& s : {some, tall, broad, deep}) all.push_back(multiply(entry, s));
    all.push_back(multiply(entry, wide, entry == "gemm" ? -60 : 60));
    if (entry != "gemm" && entry != "sgemm_naive") all.push_back(like(entry + "/256x256x256", multiply(entry, whole)));
  }
  const int64_t most = size(30'001, 40'000);
  for (const shape& s : {shape{2, 3, most}, {2, most, 3}, {most, 2, 3}}) all.push_back(multiply("gemm", s));
  for (const bool a : {false, true})
    for (const bool b : {false, true}) all.push_back(product({size(2, 90), size(2, 90), size(2, 90)}, a, b));
  for (const int64_t beta : {int64_t{0}, int64_t{8}, size(-24, -1)}) {
    const auto around = [&] { return margins{size(0, 9), size(1, 9), size(0, 9), size(1, 9)}; };
    all.push_back(block({size(2, 90), size(2, 90), size(2, 90)}, size(9, 40), beta, around(), around(), around()));
  }
  all.push_back(fits(static_cast<int>(size(16, 256)) << 10, static_cast<int>(size(64, 512)) << 7));
  all.push_back(like("tune/200-32", tune(201, size(33, 36))));
  add_attention(all, size(9, 60), size(2, 8), size(2, 40));
  add_attention(all, size(2, 9), size(9, 20), size(41, 64));
  // Timed in official grading.
  const auto larger = [&] { return 768 + 48 * size(1, 3); };
  all.push_back(like("gemm/768x768x768", timed(multiply("gemm", {larger(), larger(), larger()}))));
  return all;
}

const lab::case_registration registration{"06_tiling", cases, drawn_cases};

}  // namespace
