// Lab 01's problems. A model's FLOPs, parameters and kept activations are not compared with another formula but with a
// count: transformer.hpp runs with numbers that count their own operations. Only single products, and models too large
// to run, are checked by formula.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <lab/case.hpp>
#include <lab/ceilings.hpp>
#include <lab/compare.hpp>
#include <lab/formula.hpp>
#include <limits>
#include <sim/device_file.hpp>
#include <utility>

#include "transformer.hpp"

namespace {

using lab::buffer;
using lab::dtype;
using lab::formula;
using lab::rows_case;
using lab::test_case;
using std::int64_t;

using floats = std::vector<float>;
using doubles = std::vector<double>;
using names = std::vector<std::string>;

// ---- formulas ------------------------------------------------------------------------------------------------------

std::function<doubles(std::uint64_t)> fixed(doubles rows) {
  return [rows = std::move(rows)](std::uint64_t) { return rows; };
}

/// A table of integers, each column between its two bounds.
std::function<doubles(std::uint64_t)> drawn(std::size_t count, std::vector<std::pair<int64_t, int64_t>> bounds) {
  return [=](std::uint64_t seed) {
    lab::random_sizes size(seed);
    doubles rows;
    for (std::size_t i = 0; i < count; ++i)
      for (const auto& [least, most] : bounds) rows.push_back(static_cast<double>(size(least, most)));
    return rows;
  };
}

/// A matrix side that 32 bits cannot hold, for products whose FLOPs exceed 64-bit integers.
constexpr double huge = 4096.0 * 1'048'583;

const names of_model = {"layers", "heads", "channels", "vocabulary", "context"};

names with(names first, const names& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Small models; the channels are a multiple of the heads. `more` are bounds of further columns.
std::function<doubles(std::uint64_t)> drawn_models(std::size_t count, std::vector<std::pair<int64_t, int64_t>> more) {
  return [=](std::uint64_t seed) {
    lab::random_sizes size(seed);
    doubles rows;
    for (std::size_t i = 0; i < count; ++i) {
      const int64_t heads = size(1, 3);
      for (const int64_t value : {size(1, 3), heads, heads * size(1, 5), size(2, 40), size(8, 12)})
        rows.push_back(static_cast<double>(value));
      for (const auto& [least, most] : more) rows.push_back(static_cast<double>(size(least, most)));
    }
    return rows;
  };
}

struct model {
  double layers, heads, channels, vocabulary, context;
  explicit model(const double* in) : layers(in[0]), heads(in[1]), channels(in[2]), vocabulary(in[3]), context(in[4]) {}
};

/// The counts from running the model.
struct run_counts {
  double parameters = 0, flops = 0, kept = 0, cached = 0;
};

run_counts run(const double* in, double tokens, bool causal) {
  const auto size = [&](int i) { return static_cast<std::size_t>(in[i]); };
  lab01::gpt2<lab01::counted> model({size(0), size(1), size(2), size(3), size(4)});
  std::vector<int> sequence(static_cast<std::size_t>(tokens));
  for (std::size_t i = 0; i < sequence.size(); ++i) sequence[i] = static_cast<int>(i % size(3));
  lab01::counts = {};
  model.forward(sequence, causal);
  return {static_cast<double>(model.parameters), static_cast<double>(lab01::counts.in_products),
          static_cast<double>(model.kept), static_cast<double>(model.cached)};
}

/// The same by formula, for models that would take days to run. The solution must match both.
run_counts reckoned(const double* in, double tokens, bool causal) {
  const model m(in);
  const double c = m.channels, pairs = causal ? tokens * (tokens + 1) / 2 : tokens * tokens;
  run_counts result;
  result.parameters = m.vocabulary * c + m.context * c + m.layers * (12 * c * c + 13 * c) + 2 * c;
  result.flops = 2 * tokens * (m.layers * 12 * c * c + m.vocabulary * c) + 4 * m.layers * pairs * c;
  result.kept = m.layers * (16 * tokens * c + m.heads * tokens * tokens) + tokens * (2 * c + m.vocabulary);
  result.cached = 2 * m.layers * tokens * c;
  return result;
}

run_counts counted(const double* in, double tokens, bool causal) {
  return in[2] <= 32 ? run(in, tokens, causal) : reckoned(in, tokens, causal);
}

void add_flops(std::vector<test_case>& all) {
  const formula matmul{
      "matmul_flops", {"m", "n", "k"}, {"FLOPs"}, [](const double* a) { return doubles{2 * a[0] * a[1] * a[2]}; }};
  // The lecture's A^T B of two M x N matrices: 2 N^2 M.
  all.push_back(rows_case(matmul, "worked", fixed({256, 256, 1024, 1, 1, 1, 4096, 4096, 4096})));
  all.push_back(rows_case(matmul, "huge", fixed({huge, huge, huge})));
  all.push_back(rows_case(matmul, "drawn", drawn(8, {{1, 5000}, {1, 5000}, {1, 5000}})));
  const formula forward{"linear_forward_flops", {"data", "in", "out"}, {"FLOPs"}, [](const double* a) {
                          return doubles{2 * a[0] * a[1] * a[2]};
                        }};
  all.push_back(rows_case(forward, "worked", fixed({1024, 256, 64})));
  all.push_back(rows_case(forward, "huge", fixed({huge, huge, huge})));
  all.push_back(rows_case(forward, "drawn", drawn(8, {{1, 5000}, {1, 5000}, {1, 5000}})));
  const formula backward{
      "linear_backward_flops", {"data", "in", "out", "input_gradient"}, {"FLOPs"}, [](const double* a) {
        return doubles{(a[3] != 0 ? 4 : 2) * a[0] * a[1] * a[2]};
      }};
  // The lecture's two layers: the second needs both gradients, the first only the gradient of its weights.
  all.push_back(rows_case(backward, "worked", fixed({1024, 64, 64, 1, 1024, 256, 64, 0})));
  all.push_back(rows_case(backward, "huge", fixed({huge, huge, huge, 1, huge, huge, huge, 0})));
  all.push_back(rows_case(backward, "drawn", drawn(8, {{1, 5000}, {1, 5000}, {1, 5000}, {0, 1}})));
  const formula training{
      "training_flops", {"parameters", "data"}, {"FLOPs"}, [](const double* a) { return doubles{6 * a[0] * a[1]}; }};
  all.push_back(rows_case(training, "worked", fixed({70e9, 15e12, 124'439'808, 10e9})));
  all.push_back(rows_case(training, "drawn", drawn(4, {{1, int64_t{1} << 40}, {1, int64_t{1} << 44}})));
}

// GPT-2's four sizes; 50304 is the vocabulary padded to a multiple of 128.
const doubles gpt2_sizes[] = {{12, 12, 768, 50'257, 1024},
                              {24, 16, 1024, 50'257, 1024},
                              {36, 20, 1280, 50'257, 1024},
                              {48, 25, 1600, 50'257, 1024},
                              {12, 12, 768, 50'304, 1024}};

/// Larger than any model: its counts exceed 64 bits.
const doubles huge_size = {1000, 1024, huge, 1e6, 1e6};

doubles huge_row(doubles more) {
  more.insert(more.begin(), huge_size.begin(), huge_size.end());
  return more;
}

doubles gpt2_rows(const doubles& more) {
  doubles rows;
  for (const doubles& size : gpt2_sizes) {
    rows.insert(rows.end(), size.begin(), size.end());
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

void add_transformer(std::vector<test_case>& all) {
  const formula parameters{
      "parameters", of_model, {"parameters"}, [](const double* a) { return doubles{counted(a, 1, true).parameters}; }};
  all.push_back(rows_case(parameters, "gpt2", fixed(gpt2_rows({}))));
  all.push_back(rows_case(parameters, "huge", fixed(huge_size)));
  all.push_back(rows_case(parameters, "drawn", drawn_models(6, {})));
  const formula attention{
      "attention_flops", {"batch", "heads", "tokens", "head_size", "causal"}, {"FLOPs"}, [](const double* a) {
        const double pairs = a[4] != 0 ? a[2] * (a[2] + 1) / 2 : a[2] * a[2];
        return doubles{4 * a[0] * a[1] * pairs * a[3]};
      }};
  all.push_back(rows_case(attention, "worked", fixed({4, 12, 1024, 64, 0, 4, 12, 1024, 64, 1, 1, 1, 1, 64, 1})));
  all.push_back(rows_case(attention, "huge", fixed({1000, 1000, 1e6, huge, 0, 1000, 1000, 1e6, huge, 1})));
  all.push_back(rows_case(attention, "drawn", drawn(8, {{1, 9}, {1, 20}, {1, 3000}, {1, 128}, {0, 1}})));
  const formula forward{"forward_flops", with(of_model, {"batch", "tokens", "causal"}), {"FLOPs"}, [](const double* a) {
                          return doubles{a[5] * counted(a, a[6], a[7] != 0).flops};
                        }};
  all.push_back(rows_case(forward, "gpt2", fixed(gpt2_rows({4, 1024, 0}))));
  all.push_back(rows_case(forward, "gpt2_causal", fixed(gpt2_rows({4, 64, 1}))));
  all.push_back(rows_case(forward, "huge", fixed(huge_row({1000, 1e6, 1}))));
  all.push_back(rows_case(forward, "counted", drawn_models(6, {{1, 3}, {1, 8}, {0, 1}})));
}

void add_memory(std::vector<test_case>& all) {
  const formula training{"training_memory",
                         with(of_model, {"batch", "tokens", "state", "activation"}),
                         {"weights", "gradients", "optimizer", "activations", "batch"},
                         [](const double* a) {
                           const run_counts c = counted(a, a[6], true);
                           const double weights = c.parameters * a[7];
                           return doubles{weights, weights, 2 * weights, a[5] * c.kept * a[8], 2 * a[5] * a[6] * 8};
                         }};
  all.push_back(rows_case(training, "gpt2", fixed(gpt2_rows({4, 1024, 4, 4}))));
  all.push_back(rows_case(training, "gpt2_mixed", fixed(gpt2_rows({64, 1024, 4, 2}))));
  all.push_back(rows_case(training, "huge", fixed(huge_row({huge, 1e6, 4, 2}))));
  all.push_back(rows_case(training, "gpt2_narrow", fixed(gpt2_rows({4, 1024, 2.25, 0.5}))));
  all.push_back(rows_case(training, "counted", drawn_models(6, {{1, 5}, {1, 8}, {1, 8}, {1, 8}})));
  const formula cache{
      "kv_cache_bytes", with(of_model, {"batch", "tokens", "bytes_each"}), {"bytes"}, [](const double* a) {
        return doubles{a[5] * counted(a, a[6], true).cached * a[7]};
      }};
  all.push_back(rows_case(cache, "gpt2", fixed(gpt2_rows({1, 1024, 2}))));
  all.push_back(rows_case(cache, "gpt2_narrow", fixed(gpt2_rows({1, 1024, 0.5}))));
  all.push_back(rows_case(cache, "huge", fixed(huge_row({huge, 1e6, 2}))));
  all.push_back(rows_case(cache, "counted", drawn_models(6, {{1, 5}, {1, 8}, {1, 8}})));
}

// ---- number formats ------------------------------------------------------------------------------------------------

struct ieee {
  int exponent_bits, mantissa_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

/// The value of the code `bits` without its sign: the codes count all numbers of a format in order, then infinity.
double decoded(std::uint64_t bits, ieee f) {
  const auto mantissa = static_cast<double>(bits & ((std::uint64_t{1} << f.mantissa_bits) - 1));
  const int exponent = static_cast<int>(bits >> f.mantissa_bits);
  if (exponent == (1 << f.exponent_bits) - 1) return std::numeric_limits<double>::infinity();
  const int step = std::max(exponent, 1) - f.bias() - f.mantissa_bits;
  return std::ldexp(mantissa + (exponent > 0 ? std::ldexp(1.0, f.mantissa_bits) : 0.0), step);
}

/// The nearest number of the format, found by bisecting its codes: there is no exponent arithmetic to get wrong.
double nearest(double value, ieee f) {
  const double magnitude = std::abs(value);
  const auto infinite = static_cast<std::uint64_t>((1 << f.exponent_bits) - 1) << f.mantissa_bits;
  std::uint64_t low = 0, high = infinite;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (decoded(middle, f) <= magnitude ? low : high) = middle;
  }
  // Rounding treats infinity as the next number after the largest.
  const double below = decoded(low, f);
  const double above = high == infinite ? std::ldexp(1.0, f.bias() + 1) : decoded(high, f);
  const bool up = magnitude - below > above - magnitude || (magnitude - below == above - magnitude && low % 2 == 1);
  return std::copysign(up ? decoded(high, f) : below, value);
}

void add_formats(std::vector<test_case>& all) {
  const formula range{"range_of",
                      {"exponent_bits", "mantissa_bits"},
                      {"bytes", "largest", "smallest_normal", "smallest", "epsilon"},
                      [](const double* a) {
                        const ieee f{static_cast<int>(a[0]), static_cast<int>(a[1])};
                        const auto one = static_cast<std::uint64_t>(f.bias()) << f.mantissa_bits;
                        const auto infinite = static_cast<std::uint64_t>((1 << f.exponent_bits) - 1) << f.mantissa_bits;
                        return doubles{(1 + a[0] + a[1]) / 8, decoded(infinite - 1, f),
                                       decoded(std::uint64_t{1} << f.mantissa_bits, f), decoded(1, f),
                                       decoded(one + 1, f) - 1};
                      },
                      0};
  // fp32, fp16, bf16, fp64, the fp8 with five exponent bits (the other, E4M3, has no infinity and follows other
  // rules), and a 4-bit format.
  all.push_back(rows_case(range, "known", fixed({8, 23, 5, 10, 8, 7, 11, 52, 5, 2, 2, 1})));
  all.push_back(rows_case(range, "drawn", drawn(6, {{3, 8}, {1, 23}})));
  const formula stored{"stored",
                       {"exponent_bits", "mantissa_bits", "value"},
                       {"value"},
                       [](const double* a) {
                         return doubles{nearest(a[2], {static_cast<int>(a[0]), static_cast<int>(a[1])})};
                       },
                       0};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // The lecture's 1e-8, which fp16 cannot hold; the limits of fp16; a tie, and slightly more than a tie; 1 + 1/512,
  // which is 1 in bf16; infinities.
  all.push_back(rows_case(stored, "worked", fixed({5,  10, 1e-8,
                                                   8,  7,  1e-8,
                                                   5,  10, 65'519,
                                                   5,  10, 65'520,
                                                   5,  10, -7e4,
                                                   5,  10, 6e-8,
                                                   5,  10, 2e-8,
                                                   8,  7,  1.001953125,
                                                   5,  10, 2049,
                                                   5,  10, 2051,
                                                   8,  23, 0.1,
                                                   5,  2,  0.1,
                                                   5,  10, 0,
                                                   8,  7,  -3.4e38,
                                                   11, 52, 0.1,
                                                   9,  30, 0.1,
                                                   5,  10, infinity,
                                                   8,  7,  -infinity,
                                                   5,  10, 1 + 0x1p-11 + 0x1p-50,
                                                   11, 10, 0.1,
                                                   10, 10, 0.1,
                                                   3,  2,  0.1})));
  // Values that == cannot check.
  test_case special = rows_case(stored, "special", fixed({5, 10, -0.0, 8, 7, NAN, 5, 10, -1e-8}));
  special.check = [](std::span<const buffer>, std::span<const buffer> outputs) -> std::string {
    const auto got = outputs[0].as<double>();
    if (got[0] != 0 || !std::signbit(got[0])) return fmt::format("of value = -0: got {}, expected -0", got[0]);
    if (got[2] != 0 || !std::signbit(got[2])) return fmt::format("of value = -1e-8: got {}, expected -0", got[2]);
    return std::isnan(got[1]) ? "" : fmt::format("of value = NaN: got {}, expected NaN", got[1]);
  };
  all.push_back(std::move(special));
  // So near a tie that a float cannot tell the difference.
  all.push_back(rows_case(stored, "near_ties", fixed({5, 10, 1.0004882822, 5, 10, 1.0014648427, 8, 7, -1.003906251})));
  all.push_back(rows_case(stored, "drawn", [](std::uint64_t seed) {
    lab::random_sizes size(seed);
    doubles rows;
    for (int i = 0; i < 40; ++i) {
      const int64_t exponent_bits = size(2, 11), mantissa_bits = size(2, 23);
      // beyond both ends of the format, but not of a double
      const int64_t reach = std::min<int64_t>((int64_t{1} << (exponent_bits - 1)) + mantissa_bits, 1023);
      const double value = std::ldexp(static_cast<double>(size(-(int64_t{1} << 30), int64_t{1} << 30)),
                                      static_cast<int>(size(-reach, reach)) - 30);
      rows.insert(rows.end(), {static_cast<double>(exponent_bits), static_cast<double>(mantissa_bits), value});
    }
    return rows;
  }));
}

// ---- planning ------------------------------------------------------------------------------------------------------

void add_planning(std::vector<test_case>& all) {
  constexpr double h100 = 1979e12 / 2, a100 = 312e12;
  const formula elementwise{
      "elementwise_intensity", {"flops", "reads", "writes", "bytes_each"}, {"FLOP per byte"}, [](const double* a) {
        return doubles{a[0] / ((a[1] + a[2]) * a[3])};
      }};
  // The lecture's ReLU: 8 bytes per FLOP in fp32, 4 in fp16.
  all.push_back(rows_case(elementwise, "relu", fixed({1, 1, 1, 4, 1, 1, 1, 2, 1, 1, 1, 2.25, 1, 1, 1, 0.5})));
  all.push_back(rows_case(elementwise, "drawn", drawn(6, {{1, 50}, {0, 5}, {1, 5}, {1, 8}})));
  const formula matmul{"matmul_intensity", {"m", "n", "k", "bytes_each"}, {"FLOP per byte"}, [](const double* a) {
                         const double m = a[0], n = a[1], k = a[2];
                         return doubles{2 * m * n * k / (a[3] * (m * k + k * n + m * n))};
                       }};
  all.push_back(rows_case(matmul, "worked", fixed({4096, 4096, 4096, 2, 1, 3072, 768, 2, 1, 3072, 768, 0.5})));
  all.push_back(rows_case(matmul, "huge", fixed({huge, huge, huge, 2})));
  all.push_back(rows_case(matmul, "drawn", drawn(6, {{1, 5000}, {1, 5000}, {1, 5000}, {1, 8}})));
  const formula seconds{
      "roofline_seconds", {"flops", "bytes", "peak_flops", "peak_bytes"}, {"seconds"}, [](const double* a) {
        return doubles{std::max(a[0] / a[2], a[1] / a[3])};
      }};
  all.push_back(rows_case(seconds, "worked", fixed({1 << 20, 8 << 20, 51e12, 4.25e12, 2e12, 1e9, 51e12, 4.25e12})));
  all.push_back(rows_case(seconds, "drawn", drawn(6, {{1, 1000}, {1, 1000}, {1, 100}, {1, 100}})));
  const formula mfu{"mfu", {"parameters", "tokens_per_second", "peak_flops"}, {"mfu"}, [](const double* a) {
                      return doubles{6 * a[0] * a[1] / a[2]};
                    }};
  all.push_back(rows_case(mfu, "worked", fixed({124'439'808, 178'000, a100, 70e9, 1'206'000, 1024 * h100})));
  all.push_back(rows_case(mfu, "drawn", drawn(4, {{1, 1000}, {1, 1000}, {1, 1'000'000}})));
  const formula hfu{
      "hfu", {"parameters", "tokens_per_second", "peak_flops", "recomputed"}, {"hfu"}, [](const double* a) {
        return doubles{(6 + 2 * a[3]) * a[0] * a[1] / a[2]};
      }};
  all.push_back(rows_case(
      hfu, "worked",
      fixed({70e9, 1'206'000, 1024 * h100, 0, 70e9, 1'206'000, 1024 * h100, 1, 70e9, 1'206'000, 1024 * h100, 0.3})));
  all.push_back(rows_case(hfu, "drawn", drawn(4, {{1, 1000}, {1, 1000}, {1, 1'000'000}, {0, 1}})));
  const formula days{
      "training_days", {"parameters", "tokens", "devices", "peak_flops", "mfu"}, {"days"}, [](const double* a) {
        return doubles{6 * a[0] * a[1] / (a[2] * a[3] * a[4] * 86'400)};
      }};
  // The lecture's question, whose answer is about 143 days.
  all.push_back(rows_case(days, "worked", fixed({70e9, 15e12, 1024, h100, 0.5, 7e9, 2e12, 64, a100, 0.375})));
  all.push_back(rows_case(days, "drawn", drawn(4, {{1, 1000}, {1, 1000}, {1, 9}, {1, 99}, {1, 1}})));
  const formula largest{
      "largest_model", {"devices", "bytes_of_each", "bytes_per_parameter"}, {"parameters"}, [](const double* a) {
        return doubles{a[0] * a[1] / a[2]};
      }};
  // The lecture's question, whose answer is 40 billion.
  all.push_back(rows_case(largest, "worked", fixed({8, 80e9, 16, 8, 80e9, 2.25, 8, 80e9, 0.5})));
  all.push_back(rows_case(largest, "drawn", drawn(4, {{1, 100}, {1, 1000}, {1, 20}})));
}

// ---- peaks ---------------------------------------------------------------------------------------------------------

/// `a`, `b` and `c` begin `skipped` floats into their buffers, which start at a multiple of 256 bytes.
test_case triad(int64_t n, std::array<int64_t, 3> skipped = {}) {
  test_case result;
  result.id = "triad/" + std::to_string(n);
  if (skipped != std::array<int64_t, 3>{}) result.id += fmt::format("-unaligned-{}", fmt::join(skipped, "-"));
  result.entry = "triad";
  result.where = lab::part::host;
  result.parameters = {n, skipped[0], skipped[1], skipped[2]};
  result.outputs = {{dtype::f32, n + skipped[0]}};
  result.inputs = [=](std::uint64_t seed) {
    const auto b = static_cast<std::size_t>(n + skipped[1]), c = static_cast<std::size_t>(n + skipped[2]);
    return lab::buffers(lab::random_floats(b, seed), lab::random_floats(c, seed + 1), lab::random_floats(1, seed + 2));
  };
  result.check = [skipped](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto from = [&](std::size_t i) { return static_cast<std::size_t>(skipped[i]); };
    const auto b = before[0].as<float>().subspan(from(1)), c = before[1].as<float>().subspan(from(2));
    const float scale = before[2].as<float>()[0];
    floats want(b.size());
    for (std::size_t i = 0; i < want.size(); ++i) want[i] = b[i] + scale * c[i];
    const auto all = outputs[0].as<float>(), unused = all.first(from(0));
    if (!std::all_of(unused.begin(), unused.end(), [](float one) { return std::isnan(one); }))
      return std::string("wrote out of bounds, before `a`");
    return lab::mismatch(all.subspan(unused.size()), want, {2e-7, 0});  // fused or not, off by half an ulp below 2
  };
  result.work = {2.0 * static_cast<double>(n), 12.0 * static_cast<double>(n)};
  return result;
}

/// x after `rounds` steps x <- x * x + c, each rounded once if fused, or else twice.
float after(float x, float c, int64_t rounds, bool fused) {
  for (int64_t k = 0; k < rounds; ++k)
    x = fused ? std::fma(x, x, c) : static_cast<float>(static_cast<double>(x) * static_cast<double>(x)) + c;
  return x;
}

std::string wrong_chain(float got, float x, float c, int64_t rounds) {
  std::string text = fmt::format("x = {:.9g}, c = {:.9g}, {} rounds: got {:.9g}, expected {:.9g}", x, c, rounds, got,
                                 after(x, c, rounds, true));
  for (int64_t k = 0; k <= 2 * rounds; ++k, x = after(x, c, 1, true))
    if (x == got) return text + fmt::format("; {:.9g} is x after {} rounds", got, k);
  return text;
}

/// Steps x <- x * x + c with c in [-1.99, -1.9), where all x stay between c and c * c + c and never settle: any lost
/// digit or different rounding roughly doubles with each later step. So the result is compared bit for bit, and no
/// round can be omitted. Floats have so few values that chains enter cycles (one in 15 by 1000 rounds), and two chains
/// with the same c would meet: more rounds, or a common c, would allow shortcuts.
test_case chains(const std::string& entry, int64_t n, int64_t rounds) {
  test_case result;
  result.id = entry + "/" + std::to_string(n) + "x" + std::to_string(rounds);
  result.entry = entry;
  result.where = entry == "device_fma_chains" ? lab::part::device : lab::part::host;
  result.parameters = {n, rounds};
  result.outputs = {{dtype::f32, n}};
  result.inputs = [n](std::uint64_t seed) {
    const auto count = static_cast<std::size_t>(n);
    floats c = lab::random_floats(count, seed + 1);
    for (float& value : c) value = 0.045f * value - 1.945f;
    return lab::buffers(lab::random_floats(count, seed), c);
  };
  result.check = [rounds](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto x = before[0].as<float>(), c = before[1].as<float>(), got = outputs[0].as<float>();
    floats want(x.size());
    std::atomic<std::size_t> wrong = x.size();
    const auto part = [&](std::size_t first, std::size_t last) {
      lab::fma_chains(&want[first], &x[first], &c[first], last - first, rounds);
      std::size_t i = first;
      const auto right = [&] {
        return got[i] == want[i] || got[i] == after(x[i], c[i], rounds, false) ||
               got[i] == after(x[i], c[i], rounds, true);
      };
      while (i < last && right()) ++i;
      for (std::size_t least = wrong; i < last && i < least && !wrong.compare_exchange_weak(least, i);) {
      }
    };
    lab::in_parallel(x.size(), part, static_cast<std::size_t>(std::max<int64_t>(rounds, 1)));
    const std::size_t i = wrong;
    return i == x.size() ? "" : fmt::format("element {}: {}", i, wrong_chain(got[i], x[i], c[i], rounds));
  };
  result.work = {2.0 * static_cast<double>(n) * static_cast<double>(rounds), 12.0 * static_cast<double>(n)};
  return result;
}

test_case device_case(std::string entry, std::string sizes, std::vector<int64_t> parameters,
                      const std::vector<int64_t>& inputs, std::vector<int64_t> outputs,
                      std::function<floats(std::span<const buffer>)> want, lab::tolerance allowed) {
  test_case result;
  result.id = entry + "/" + sizes;
  result.entry = std::move(entry);
  result.parameters = std::move(parameters);
  for (const int64_t size : outputs) {
    result.outputs.push_back({dtype::f32, size});
    result.work.bytes += 4.0 * static_cast<double>(size);
  }
  for (const int64_t size : inputs) result.work.bytes += 4.0 * static_cast<double>(size);
  result.inputs = [inputs](std::uint64_t seed) {
    std::vector<buffer> all;
    for (const int64_t size : inputs)
      all.push_back(buffer::of(lab::random_floats(static_cast<std::size_t>(size), seed + all.size())));
    return all;
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> got) {
    return lab::mismatch(got[0].as<float>(), want(before), allowed);
  };
  return result;
}

test_case copy(int64_t n) {
  test_case result = device_case("copy", std::to_string(n), {n}, {n}, {n}, nullptr, {});
  result.inputs = [n](std::uint64_t seed) {
    return lab::buffers(lab::floats_of_any_size(static_cast<std::size_t>(n), seed));
  };
  result.check = [](std::span<const buffer> before, std::span<const buffer> outputs) {
    return lab::copy_mismatch(outputs[0].as<float>(), before[0].as<float>());
  };
  return result;
}

// ---- what the predictions are about --------------------------------------------------------------------------------

struct operation {
  const char* name;
  double flops, bytes;
};

/// In fp32, with each input read once and each output written once; the arrays of a million are counted per element.
std::vector<operation> operations() {
  const auto matmul = [](double m, double n, double k) {
    return std::pair{2 * m * n * k, 4 * (m * k + k * n + m * n)};
  };
  std::vector<operation> all = {{"relu", 1, 8},    {"gelu", 9, 8},      {"layer_norm", 8, 8},
                                {"softmax", 5, 8}, {"transpose", 0, 8}, {"adamw", 14, 28}};
  const auto add = [&](const char* name, std::pair<double, double> work) {
    all.push_back({name, work.first, work.second});
  };
  add("decode_linear", matmul(1, 3072, 768));
  add("decode_attention", {4.0 * 1024 * 64, 4.0 * 2 * 1024 * 64});
  add("prefill_linear", matmul(1024, 3072, 768));
  add("matmul_4096", matmul(4096, 4096, 4096));
  add("attention_scores", matmul(4096, 4096, 128));
  add("thousand_steps", {2000, 8});
  return all;
}

test_case memory_bound() {
  doubles work;
  for (const operation& o : operations()) work.insert(work.end(), {o.flops, o.bytes});
  const auto count = static_cast<int64_t>(work.size() / 2);
  test_case result;
  result.id = "memory_bound/h200";
  result.entry = "memory_bound";
  result.where = lab::part::host;
  result.parameters = {count};
  result.outputs = {{dtype::f64, count}};
  const sim::device_file h200(LAB_DEVICES, "h200");
  const doubles peaks{h200.number("fp32_flops_per_second"), h200.number("copy_bytes_per_second")};
  result.inputs = [work, peaks](std::uint64_t) { return lab::buffers(work, peaks); };
  result.check = [](std::span<const buffer>, std::span<const buffer>) { return std::string(); };
  return result;
}

void add_operations(std::vector<test_case>& all) {
  constexpr int64_t million = 1 << 20, edge = 1024;
  const auto each = [](auto f) {
    return [f](std::span<const buffer> in) {
      floats out;
      for (const float x : in[0].as<float>()) out.push_back(static_cast<float>(f(static_cast<double>(x))));
      return out;
    };
  };
  const auto relu = each([](double x) { return std::max(x, 0.0); });
  all.push_back(device_case("relu", "1048576", {million}, {million}, {million}, relu, {}));
  all.push_back(device_case("relu", "1024", {edge}, {edge}, {edge}, relu, {}));
  all.push_back(device_case(
      "gelu", "1048576", {million}, {million}, {million},
      each([](double x) { return 0.5 * x * (1 + std::tanh(0.79788456 * (x + 0.044715 * x * x * x))); }), {1e-6, 0}));
  all.push_back(device_case("residual_add", "1048576", {million}, {million, million}, {million},
                            [](std::span<const buffer> in) {
                              floats out(in[0].as<float>().begin(), in[0].as<float>().end());
                              for (std::size_t i = 0; i < out.size(); ++i) out[i] += in[1].as<float>()[i];
                              return out;
                            },
                            {}));
  const auto by_rows = [](auto f) {
    return [f](std::span<const buffer> in) {
      const auto x = in[0].as<float>();
      floats out(x.size());
      for (std::size_t row = 0; row < x.size(); row += edge) f(x.subspan(row, edge), &out[row]);
      return out;
    };
  };
  all.push_back(device_case(
      "layer_norm", "1024x1024", {edge, edge}, {million}, {million}, by_rows([](std::span<const float> x, float* out) {
        double sum = 0, squares = 0;
        for (const double v : x) sum += v, squares += v * v;
        const double mean = sum / edge, variance = squares / edge - mean * mean;
        for (std::size_t i = 0; i < x.size(); ++i)
          out[i] = static_cast<float>((static_cast<double>(x[i]) - mean) / std::sqrt(variance + 1e-5));
      }),
      {1e-5, 1e-5}));
  all.push_back(device_case("softmax", "1024x1024", {edge, edge}, {million}, {million},
                            by_rows([](std::span<const float> x, float* out) {
                              double sum = 0;
                              for (const double v : x) sum += std::exp(v);
                              for (std::size_t i = 0; i < x.size(); ++i)
                                out[i] = static_cast<float>(std::exp(static_cast<double>(x[i])) / sum);
                            }),
                            {0, 1e-5}));
  test_case adamw = device_case("adamw", "1048576", {million}, {million, million, million, million},
                                {million, million, million}, nullptr, {});
  adamw.inputs = [make = adamw.inputs](std::uint64_t seed) {
    std::vector<buffer> inputs = make(seed);
    for (float& v : inputs[2].as<float>()) v = std::abs(v);  // a mean of squares
    return inputs;
  };
  adamw.check = [](std::span<const buffer> in, std::span<const buffer> got) {
    floats want;
    for (std::size_t i = 0; i < in[0].as<float>().size(); ++i) {
      const auto at = [&](std::size_t k) { return static_cast<double>(in[k].as<float>()[i]); };
      const double m = 0.9 * at(1) + 0.1 * at(3), v = 0.95 * at(2) + 0.05 * at(3) * at(3);
      want.push_back(static_cast<float>(at(0) - 1e-3 * (m / (std::sqrt(v) + 1e-8) + 0.1 * at(0))));
    }
    return lab::mismatch(got[0].as<float>(), want, {1e-5, 1e-5});
  };
  all.push_back(std::move(adamw));
  all.push_back(device_case("decode_linear", "1024x1024", {edge, edge}, {million, edge}, {edge},
                            [](std::span<const buffer> in) {
                              floats out(edge);
                              for (std::size_t r = 0; r < edge; ++r) {
                                double sum = 0;
                                for (std::size_t c = 0; c < edge; ++c)
                                  sum += static_cast<double>(in[0].as<float>()[r * edge + c]) *
                                         static_cast<double>(in[1].as<float>()[c]);
                                out[r] = static_cast<float>(sum);
                              }
                              return out;
                            },
                            {1e-3, 0}));
}

std::vector<test_case> cases() {
  std::vector<test_case> all;
  add_flops(all);
  add_transformer(all);
  add_memory(all);
  add_formats(all);
  add_planning(all);
  for (int64_t n : {1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 1000, 100'003}) all.push_back(triad(n));
  for (int64_t n : {1, 3, 16, 1000}) all.push_back(triad(n, {1, 0, 0}));
  all.push_back(triad(1000, {0, 3, 5}));
  for (const auto& [n, rounds] : {std::pair<int64_t, int64_t>{1, 1},
                                  {7, 3},
                                  {16, 100},
                                  {31, 7},
                                  {127, 20},
                                  {128, 20},
                                  {129, 20},
                                  {193, 0},
                                  {193, 1000},
                                  {1000, 50},
                                  {6144, 10}})
    all.push_back(chains("fma_chains", n, rounds));
  for (int64_t n : {1, 2, 3, 4, 5, 31, 127, 128, 129, 1023, 100'003, (1 << 20) + 3}) all.push_back(copy(n));
  for (const auto& [n, rounds] :
       {std::pair<int64_t, int64_t>{1, 1}, {31, 7}, {33, 0}, {33, 1000}, {1000, 50}, {4097, 3}, {65'536, 64}})
    all.push_back(chains("device_fma_chains", n, rounds));
  all.push_back(memory_bound());
  add_operations(all);
  all.push_back(timed(triad(1 << 24)));
  all.push_back(timed(chains("fma_chains", 122'880, 1000)));
  all.push_back(timed(copy(1 << 28)));
  all.push_back(timed(chains("device_fma_chains", 1 << 22, 4096)));
  return all;
}

/// Random sizes: no submission can prepare for them. (Formulas already draw their rows from the seed.)
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes size(seed);
  std::vector<test_case> all;
  for (int i = 0; i < 2; ++i) {
    const int64_t n = size(2, 20'000), skipped = size(0, 7);
    all.push_back(triad(n, {size(2, 15), skipped, size(1, 7)}));
    all.push_back(chains("fma_chains", size(2, 5000), size(1, 60)));
    all.push_back(copy(size(5, 20'000)));
    all.push_back(chains("device_fma_chains", size(2, 5000), size(1, 60)));
  }
  // Larger than any case above.
  all.push_back(triad(size(100'004, 200'000)));
  all.push_back(chains("fma_chains", size(6145, 9000), 10));
  all.push_back(copy((1 << 20) + size(4, 9999)));
  for (const char* entry : {"fma_chains", "device_fma_chains"}) {
    all.push_back(chains(entry, 40, size(1001, 2000)));
    all.push_back(chains(entry, 9, size(65'540, 70'000)));
  }
  all.push_back(chains("device_fma_chains", size(65'537, 80'000), 3));
  // Cases whose counters are read.
  all.push_back(like("copy/1048579", copy(8 * size(40'000, 120'000) + 3)));
  all.push_back(like("device_fma_chains/65536x64", chains("device_fma_chains", 1024 * size(16, 60), size(40, 80))));
  // Timed in official grading.
  all.push_back(like("triad/16777216", timed(triad((1 << 24) + size(1, 99'999)))));
  all.push_back(like("fma_chains/122880x1000", timed(chains("fma_chains", 122'880 + 64 * size(1, 200), 1000))));
  return all;
}

const lab::case_registration registration{"01_accounting", cases, drawn_cases};

}  // namespace
