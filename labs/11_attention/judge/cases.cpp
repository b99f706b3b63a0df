// Lab 11's problems: what tiles cost, results to join, attention of all shapes, and one query at a time. Each row is
// recomputed in double, by the definition of softmax.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <lab/case.hpp>
#include <lab/compare.hpp>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace {

using lab::bfloat16;
using lab::buffer;
using lab::dtype;
using lab::test_case;
using std::int64_t;
using floats = std::vector<float>;

std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

// ---- what tiles cost ----------------------------------------------------------------------------------------------

struct tiling {
  int64_t tokens, queries, keys;
  bool causal;
};

/// Calls use(queries, keys) with the size of each tile of scores that is computed.
template <class Use>
void each_tile(const tiling& t, const Use& use) {
  for (int64_t q = 0; q < t.tokens; q += t.queries) {
    const int64_t end = std::min(q + t.queries, t.tokens);
    for (int64_t k = 0; k < t.tokens && !(t.causal && k >= end); k += t.keys)
      use(end - q, std::min(t.keys, t.tokens - k));
  }
}

int64_t right_scores(const tiling& t) {
  int64_t sum = 0;
  each_tile(t, [&](int64_t queries, int64_t keys) { sum += queries * keys; });
  return sum;
}

int64_t right_bytes(const tiling& t, int64_t size, int64_t bytes) {
  int64_t keys_loaded = 0;
  each_tile(t, [&](int64_t, int64_t keys) { keys_loaded += keys; });
  return (t.tokens + 2 * keys_loaded) * size * bytes;
}

test_case formula(std::string id, std::vector<int64_t> parameters, int64_t right) {
  test_case c;
  c.entry = id.substr(0, id.find('/'));
  c.id = std::move(id);
  c.where = lab::part::host;
  c.parameters = std::move(parameters);
  c.outputs = {{dtype::i64, 1}};
  c.inputs = [](std::uint64_t) { return std::vector<buffer>(); };
  c.check = [=](std::span<const buffer>, std::span<const buffer> outputs) -> std::string {
    const int64_t got = outputs[0].as<int64_t>()[0];
    return got == right ? "" : fmt::format("the result is {}, should be {}", got, right);
  };
  return c;
}

void add_formulas(std::vector<test_case>& all, const tiling& t, int64_t size, int64_t bytes) {
  const std::string name = fmt::format("{}-{}x{}{}", t.tokens, t.queries, t.keys, t.causal ? "-causal" : "");
  all.push_back(formula("computed_scores/" + name, {t.tokens, t.queries, t.keys, t.causal}, right_scores(t)));
  all.push_back(formula(fmt::format("loaded_bytes/{}-{}x{}", name, size, bytes),
                        {t.tokens, size, bytes, t.queries, t.keys, t.causal}, right_bytes(t, size, bytes)));
}

// ---- results to join ----------------------------------------------------------------------------------------------

/// Rows in which either side may have seen no keys, or keys with scores far above or below the other's.
test_case merge(int64_t rows, int64_t size) {
  test_case c;
  c.id = fmt::format("merge/{}x{}", rows, size);
  c.entry = "merge";
  c.where = lab::part::host;
  c.parameters = {rows, size};
  c.outputs = {{dtype::f32, rows * size}, {dtype::f32, rows}};
  c.inputs = [=](std::uint64_t seed) {
    constexpr float none = -std::numeric_limits<float>::infinity();
    floats out = lab::random_floats(at(rows * size), seed), other = lab::random_floats(at(rows * size), seed + 1);
    floats lse = lab::random_floats(at(rows), seed + 2), other_lse = lab::random_floats(at(rows), seed + 3);
    for (int64_t r = 0; r < rows; ++r) {
      const auto kind = (static_cast<std::uint64_t>(r) + seed) % 8;
      const float apart = kind < 3 ? 1.0f : kind < 5 ? 8.0f : kind == 5 ? 900.0f : 2.0f;
      const float middle = 90.0f * lse[at(r)] * static_cast<float>(kind % 3);
      lse[at(r)] = middle + apart * lse[at(r)];
      other_lse[at(r)] = middle + apart * other_lse[at(r)];
      if (kind == 6 || kind == 7) {
        (kind == 6 ? lse : other_lse)[at(r)] = none;
        if (r % 16 >= 8) lse[at(r)] = other_lse[at(r)] = none;
        for (int64_t i = 0; i < size; ++i) {
          if (lse[at(r)] == none) out[at(r * size + i)] = 0.0f;
          if (other_lse[at(r)] == none) other[at(r * size + i)] = 0.0f;
        }
      }
    }
    return lab::buffers(out, lse, other, other_lse);
  };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto a = before[0].as<float>(), b = before[2].as<float>(), got = outputs[0].as<float>();
    for (std::size_t r = 0; r < at(rows); ++r) {
      const double la = static_cast<double>(before[1].as<float>()[r]),
                   lb = static_cast<double>(before[3].as<float>()[r]);
      const double most = std::max(la, lb), got_lse = static_cast<double>(outputs[1].as<float>()[r]);
      const bool none = std::isinf(most);
      const double wa = none ? 0 : std::exp(la - most), wb = none ? 0 : std::exp(lb - most);
      const double lse = none ? most : most + std::log(wa + wb);
      const bool agrees = none ? got_lse == most : std::abs(got_lse - lse) <= 1e-6 * (2 + std::abs(lse));
      if (!agrees) return fmt::format("row {}: lse {} and {} become {}, should be {:.7g}", r, la, lb, got_lse, lse);
      for (std::size_t i = 0; i < at(size); ++i) {
        const double x = static_cast<double>(a[r * at(size) + i]), y = static_cast<double>(b[r * at(size) + i]);
        const double want = none ? 0 : (wa * x + wb * y) / (wa + wb), one = static_cast<double>(got[r * at(size) + i]);
        // A difference of large logarithms keeps their rounding error.
        const double allowed = (2e-6 + (none ? 0 : 2e-7 * std::abs(most))) * (std::abs(x) + std::abs(y));
        if (!(std::abs(one - want) <= allowed))
          return fmt::format("row {}, column {}: {} with lse {} and {} with lse {} become {}, should be {:.7g}", r, i,
                             x, la, y, lb, one, want);
      }
    }
    return "";
  };
  return c;
}

// ---- attention ----------------------------------------------------------------------------------------------------

struct shape {
  int64_t heads, tokens, size;
  bool causal;
};

/// How FP32 and bf16 differ: how far rounding may move a weight and an element of the result.
struct precision {
  const char* name;
  dtype type;
  double weight, result;
};
constexpr precision in_fp32{"fp32", dtype::f32, 0, 0}, in_bf16{"bf16", dtype::bf16, 0x1p-8, 0x1p-8};

buffer stored(const precision& p, const floats& values) {
  if (p.type == dtype::f32) return buffer::of(values);
  std::vector<bfloat16> narrow(values.size());
  std::transform(values.begin(), values.end(), narrow.begin(), lab::to_bfloat16);
  return buffer::of(narrow);
}

floats widened(const buffer& b) {
  if (b.spec().type == dtype::f32) return floats(b.as<float>().begin(), b.as<float>().end());
  return floats(b.as<bfloat16>().begin(), b.as<bfloat16>().end());
}

/// The distribution of queries, keys and values. Scores are about `spread` away from zero; if it is large, a softmax
/// that does not subtract the maximum overflows, and one key gets nearly all of the weight. If `below`, all scores lie
/// between -1000, the contract's limit, and -400: their exponentials are zero in float. `middle` is the mean of the
/// values; far from zero, it exposes rounded partial sums.
struct likes {
  float spread = 1;
  bool below = false;
  float middle = 0.25f;
};
constexpr likes usual{}, below_zero{1, true}, far_values{1, false, 4.0f};

/// The seed chooses a power of two that multiplies keys and divides queries, and another for values: harmless in float
/// and bf16, but outside fp16's range.
auto inputs_of(const precision& p, int64_t queries, const shape& s, const likes& l) {
  return [=](std::uint64_t seed) {
    constexpr float around = 1.75f;
    const float below = l.below ? std::sqrt(990.0f / std::sqrt(static_cast<float>(s.size))) - around : 0.0f;
    lab::random_sizes draw(seed + 3);
    const auto power = [&] { return std::ldexp(1.0f, static_cast<int>(draw(20, 30) * (2 * draw(0, 1) - 1))); };
    const float of_keys = power(), of_values = power();
    floats q = lab::random_floats(at(s.heads * queries * s.size), seed),
           k = lab::random_floats(at(s.heads * s.tokens * s.size), seed + 1),
           v = lab::random_floats(at(s.heads * s.tokens * s.size), seed + 2);
    for (float& one : q) one = (around * l.spread * one + below) / of_keys;
    for (float& one : k) one = (around * one + (l.below ? -below : 0.125f)) * of_keys;
    for (float& one : v) one = (one + l.middle) * of_values;
    return std::vector{stored(p, q), stored(p, k), stored(p, v)};
  };
}

/// Describes what is wrong with one row that sees `n` keys; sets `lse_off` to the error of its logarithm. Errors are
/// bounded as for FP32 in any order: a score's by the sum of |q k|, those of sums over keys by their length.
std::string wrong_row(const precision& p, std::span<const float> q, std::span<const float> k, std::span<const float> v,
                      std::span<const float> got, const float* lse, std::size_t n, double& lse_off) {
  const std::size_t size = q.size();
  const double scale = 1 / std::sqrt(static_cast<double>(size)), unit = 0x1p-24;
  std::vector<double> weights(n), want(size), magnitude(size);
  double most = -std::numeric_limits<double>::infinity(), product = 0, sum = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const lab::dot score = lab::dot_of(q, k.subspan(j * size, size));
    weights[j] = scale * score.sum;
    most = std::max(most, weights[j]);
    product = std::max(product, scale * score.terms);
  }
  for (double& one : weights) sum += one = std::exp(one - most);
  for (double& one : weights) one /= sum;
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < size; ++i) {
      const double term = weights[j] * static_cast<double>(v[j * size + i]);
      want[i] += term;
      magnitude[i] += std::abs(term);
    }
  const double of_score = 2 * (static_cast<double>(size) + 16) * unit * product;
  const double of_sum = (static_cast<double>(n) + 32) * unit;
  for (std::size_t i = 0; i < size; ++i) {
    const double allowed = (2 * of_score + 2 * of_sum + p.weight) * magnitude[i] + p.result * std::abs(want[i]) + 1e-36;
    const auto one = static_cast<double>(got[i]);
    if (!(std::abs(one - want[i]) <= allowed))
      return fmt::format("column {} is {:.7g}, should be {:.7g}, and may be off by {:.2g}", i, one, want[i], allowed);
  }
  if (!lse) return {};
  const double right = most + std::log(sum), allowed = of_score + of_sum + p.weight + 2 * unit * std::abs(right);
  lse_off = std::max(std::abs(static_cast<double>(*lse) - right) - of_score - of_sum - 2 * unit * std::abs(right), 0.0);
  if (!(std::abs(static_cast<double>(*lse) - right) <= allowed))
    return fmt::format("lse is {:.7g}, should be {:.7g}, and may be off by {:.2g}", *lse, right, allowed);
  return {};
}

/// Checks all rows of a small result, but only 200 of a large one, drawn after the submission has answered.
auto check_of(const precision& p, int64_t queries, const shape& s, bool has_lse) {
  return [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const floats q = widened(before[0]), k = widened(before[1]), v = widened(before[2]), out = widened(outputs[0]);
    const auto size = at(s.size), rows = at(s.heads * queries), a_head = at(s.tokens) * size;
    std::vector<std::size_t> checked;
    if (s.heads * queries * s.tokens * s.size <= int64_t{1} << 28) {
      for (std::size_t r = 0; r < rows; ++r) checked.push_back(r);
    } else {
      lab::random_sizes draw(lab::secret_seed());
      for (int i = 0; i < 200; ++i) checked.push_back(at(draw(0, static_cast<int64_t>(rows) - 1)));
    }
    std::vector<std::string> wrong(checked.size());
    std::vector<double> lse_off(checked.size());
    const auto check = [&](std::size_t i) {
      const std::size_t row = checked[i], head = row / at(queries), query = row % at(queries);
      const auto of = [&](const floats& all, std::size_t from, std::size_t count) {
        return std::span(all).subspan(from, count);
      };
      const std::string text =
          wrong_row(p, of(q, row * size, size), of(k, head * a_head, a_head), of(v, head * a_head, a_head),
                    of(out, row * size, size), has_lse ? &outputs[1].as<float>()[row] : nullptr,
                    s.causal ? query + 1 : at(s.tokens), lse_off[i]);
      if (!text.empty()) wrong[i] = fmt::format("head {}, query {}: {}", head, query, text);
    };
    lab::for_each_index(checked.size(), check, a_head);
    const auto is_wrong = [](const std::string& text) { return !text.empty(); };
    const auto first = std::find_if(wrong.begin(), wrong.end(), is_wrong);
    if (first != wrong.end())
      return fmt::format("{} of {} rows are wrong: {}", std::count_if(wrong.begin(), wrong.end(), is_wrong),
                         wrong.size(), *first);
    // Weights are rounded up and down, so their sum has a smaller relative error than each. A rounded sum does not.
    const double off = std::accumulate(lse_off.begin(), lse_off.end(), 0.0) / static_cast<double>(lse_off.size()),
                 most = p.weight / 8;
    return s.tokens < 64 || s.causal || off <= most
               ? ""
               : fmt::format("lse is off by {:.2g} on the average of all rows, and may be by {:.2g}: sums are FP32",
                             off, most);
  };
}

std::string name_of(const shape& s, const likes& l) {
  return fmt::format("{}x{}x{}{}{}{}{}", s.heads, s.tokens, s.size, s.causal ? "-causal" : "",
                     l.spread > 1 ? "-spread" : "", l.below ? "-below" : "", l.middle > 1 ? "-far" : "");
}

/// The first three parameters belong to the ceiling, which has as many operations if not causal: see calls.cpp.
test_case attention(const char* entry, const precision& p, const shape& s, const likes& l = usual) {
  test_case c;
  c.id = fmt::format("{}/{}", entry, name_of(s, l));
  c.entry = entry;
  c.parameters = {s.tokens, 2 * s.heads * s.size, s.tokens, s.heads, s.tokens, s.size, s.causal};
  c.own_sizes = 3;
  c.outputs = {{p.type, s.heads * s.tokens * s.size}, {dtype::f32, s.heads * s.tokens}};
  c.inputs = inputs_of(p, s.tokens, s, l);
  c.check = check_of(p, s.tokens, s, true);
  const auto elements = static_cast<double>(s.heads * s.tokens * s.size);
  c.work.flops = 4 * elements * static_cast<double>(s.tokens) / (s.causal ? 2 : 1);
  c.work.bytes = 4 * elements * static_cast<double>(size_bytes(p.type)) + 4 * static_cast<double>(s.heads * s.tokens);
  return c;
}

/// One head of attention, on the host.
test_case on_host(shape s, const likes& l = usual) {
  s.heads = 1;
  test_case c = attention("attention_host", in_fp32, s, l);
  c.where = lab::part::host;
  c.parameters[0] = s.tokens * s.size;  // number of chains
  c.parameters[1] = 2 * s.tokens;       // multiply-adds in each
  return c;
}

/// The submission may use 12 times the memory of its queries: enough for copies of all arguments in double, but less
/// than a byte per score.
test_case on_host_without_matrix(const shape& s) {
  test_case c = on_host(s);
  c.id += "-memory";
  c.memory = 12 * at(s.tokens * s.size) * sizeof(float);
  return c;
}

test_case unfused(const shape& s) {
  test_case c = attention("attention_unfused", in_fp32, s);
  c.outputs[1].size = s.heads * s.tokens * s.tokens;
  c.check = check_of(in_fp32, s.tokens, s, false);
  return c;
}

test_case decode(int64_t heads, int64_t tokens, int64_t size, const likes& l = usual) {
  constexpr int64_t most_parts = 64;
  const shape s{heads, tokens, size, false};
  test_case c;
  c.id = fmt::format("decode_bf16/{}", name_of(s, l));
  c.entry = "decode_bf16";
  c.parameters = {heads, tokens, size};
  c.outputs = {{dtype::bf16, heads * size}, {dtype::u8, heads * most_parts * (size + 2) * 4}};
  c.inputs = inputs_of(in_bf16, 1, s, l);
  c.check = check_of(in_bf16, 1, s, false);
  const auto elements = static_cast<double>(heads * tokens * size);
  c.work = {4 * elements, 4 * elements};
  return c;
}

// ---- all ----------------------------------------------------------------------------------------------------------

std::vector<test_case> cases() {
  std::vector<test_case> all;
  for (const bool causal : {false, true})
    for (const auto& [tokens, queries, keys] : {std::array<int64_t, 3>{1, 64, 64},
                                                {64, 64, 64},
                                                {65, 64, 64},
                                                {100, 128, 32},
                                                {256, 64, 64},
                                                {4096, 128, 64},
                                                {4097, 64, 128},
                                                {1000, 48, 80},
                                                {100'000, 192, 128}})
      add_formulas(all, {tokens, queries, keys, causal}, tokens % 2 == 0 ? 64 : 128, causal ? 2 : 4);

  for (const auto& [rows, size] : {std::pair<int64_t, int64_t>{1, 1}, {7, 64}, {64, 128}, {1100, 3}})
    all.push_back(merge(rows, size));

  // 1, primes, one below and one above each tile, more and fewer queries than a block has, both head sizes.
  constexpr shape shapes[] = {{1, 1, 64, false},   {3, 2, 128, true},   {2, 17, 64, true},   {1, 31, 128, false},
                              {2, 63, 64, false},  {1, 64, 128, true},  {2, 65, 64, true},   {1, 65, 128, false},
                              {1, 127, 64, false}, {1, 128, 64, true},  {1, 129, 128, true}, {2, 200, 64, false},
                              {1, 257, 64, true},  {1, 300, 128, false}};
  for (const shape& s : shapes) {
    all.push_back(attention("attention_fp32", in_fp32, s));
    all.push_back(attention("attention_bf16", in_bf16, s));
    all.push_back(on_host(s));
  }
  for (const likes& l : {likes{24}, likes{96}, below_zero, far_values})
    for (const shape& s : {shape{2, 70, 64, l.spread > 50}, shape{1, 133, 128, l.spread < 50}}) {
      all.push_back(attention("attention_fp32", in_fp32, s, l));
      all.push_back(attention("attention_bf16", in_bf16, s, l));
      all.push_back(on_host(s, l));
    }
  all.push_back(attention("attention_bf16", in_bf16, {1, 700, 64, false}, far_values));
  // Enough tokens that a window of the last few hundred keys fails; for FP32, enough that the scores of 64 queries do
  // not fit in shared memory.
  all.push_back(attention("attention_fp32", in_fp32, {1, 900, 64, true}));
  all.push_back(attention("attention_bf16", in_bf16, {1, 530, 64, true}));
  // Many heads, for which a kernel may choose other tiles.
  all.push_back(attention("attention_bf16", in_bf16, {65, 66, 64, true}));
  all.push_back(attention("attention_fp32", in_fp32, {33, 20, 64, false}));
  // The cases for counters and predictions.
  for (const bool causal : {false, true}) {
    all.push_back(attention("attention_fp32", in_fp32, {1, 256, 128, causal}));
    all.push_back(attention("attention_bf16", in_bf16, {1, 256, 128, causal}));
  }
  all.push_back(unfused({1, 256, 128, false}));
  all.push_back(on_host_without_matrix({1, 4500, 64, true}));  // more keys than a fixed-size array
  all.push_back(on_host_without_matrix({1, 1600, 64, false}));

  for (const auto& [heads, tokens, size] : {std::array<int64_t, 3>{1, 1, 64},
                                            {3, 2, 128},
                                            {2, 31, 64},
                                            {5, 64, 128},
                                            {1, 65, 64},
                                            {1, 257, 128},
                                            {3, 500, 64},
                                            {2, 1000, 128},
                                            {1, 4099, 64},
                                            {70, 130, 64},
                                            {2, 4096, 128}})
    all.push_back(decode(heads, tokens, size));
  // More keys than 64 parts of 2048 hold, with weights so unequal that omitted keys show.
  all.push_back(decode(1, 140'000, 64, {2}));
  all.push_back(decode(2, 700, 128, {96}));
  all.push_back(decode(3, 513, 64, {24}));
  all.push_back(decode(2, 700, 64, below_zero));
  all.push_back(decode(1, 1, 128, below_zero));

  all.push_back(timed(on_host({1, 2048, 64, false})));
  all.push_back(timed(attention("attention_bf16", in_bf16, {16, 4096, 128, false})));
  all.push_back(timed(decode(32, 16'384, 128)));
  return all;
}

/// Random sizes: no submission can prepare for them.
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes draw(seed);
  std::vector<test_case> all;
  for (const bool causal : {false, true}) {
    const shape s{draw(1, 3), draw(2, 180), 64 * draw(1, 2), causal};
    all.push_back(attention("attention_fp32", in_fp32, s));
    all.push_back(attention("attention_bf16", in_bf16, s));
    all.push_back(on_host(s));
    all.push_back(decode(draw(1, 8), draw(2, 2000), 64 * draw(1, 2)));
    add_formulas(all, {draw(2, 5000), draw(1, 300), draw(1, 300), causal}, 64, 2);
  }
  // Cases whose counters are read: whole blocks, also of 128 or 256 queries.
  all.push_back(lab::like("decode_bf16/2x4096x128", decode(2, 64 * draw(56, 63), 128)));
  for (const bool masked : {false, true})
    for (const auto& [entry, p] : {std::pair("attention_fp32", in_fp32), std::pair("attention_bf16", in_bf16)}) {
      const std::string counted = fmt::format("{}/1x256x128{}", entry, masked ? "-causal" : "");
      all.push_back(lab::like(counted, attention(entry, p, {1, 512, 128, masked})));
    }
  all.push_back(lab::like("attention_host/1x2048x64", timed(on_host({1, 2048 + 64 * draw(1, 4), 64, false}))));
  // Larger than any case above: rows, tokens, heads.
  all.push_back(merge(draw(1101, 2000), draw(1, 9)));
  const bool causal = draw(0, 1) == 1;
  all.push_back(attention("attention_fp32", in_fp32, {1, draw(1025, 1090), 64, causal}));
  all.push_back(attention("attention_bf16", in_bf16, {1, draw(701, 1000), 64, causal}));
  all.push_back(attention("attention_fp32", in_fp32, {1, draw(601, 640), 128, causal}));
  all.push_back(attention("attention_bf16", in_bf16, {1, draw(601, 640), 128, causal}));
  all.push_back(attention("attention_fp32", in_fp32, {draw(34, 90), draw(2, 20), 64, causal}));
  all.push_back(attention("attention_bf16", in_bf16, {draw(66, 120), draw(2, 70), 64, causal}));
  all.push_back(on_host({1, draw(4501, 5000), 64, causal}));
  all.push_back(decode(1, draw(140'001, 150'000), 64, {2}));
  all.push_back(decode(draw(1025, 1200), draw(2, 20), 64));
  return all;
}

const lab::case_registration registration{"11_attention", cases, drawn_cases};

}  // namespace
