// Lab 08's problems: sizes, seeded inputs, expected results, and how much work they take.
#include <lab/case.hpp>
#include <lab/compare.hpp>
#include <lab/formula.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "gpt2/pass.hpp"
#include "traces.hpp"

namespace {

using namespace lab08;
using lab::formula;
using lab::rows_case;

using names = std::vector<std::string>;

// ---- ranges --------------------------------------------------------------------------------------------------------

constexpr const char* operation_names[] = {"embed",
                                           "normalize_before_attention",
                                           "project_to_qkv",
                                           "multiply_queries_by_keys",
                                           "softmax",
                                           "weigh_values",
                                           "project_attention",
                                           "add_attention",
                                           "normalize_before_mlp",
                                           "expand",
                                           "gelu",
                                           "contract",
                                           "add_mlp",
                                           "normalize_last",
                                           "multiply_by_embedding"};
/// For each operation: an index into gpt2::all_blocks.
constexpr int block_of[] = {0, 1, 2, 2, 2, 2, 2, 3, 4, 5, 5, 5, 6, 7, 8};
constexpr int layer_range = 9, leave_event = 99, enter_event = 100, step_event = 1000;

std::string range_name(int which) {
  return which == layer_range  ? "layer"
         : which < layer_range ? gpt2::name_of(gpt2::all_blocks[which])
                               : "of another name";
}

/// The operations of a pass with this many layers, in order: (operation, layer).
std::vector<std::pair<int, int>> operations_of(int layers) {
  std::vector<std::pair<int, int>> all{{0, 0}};
  for (int l = 0; l < layers; ++l)
    for (int o = 1; o <= 12; ++o) all.emplace_back(o, l);
  all.insert(all.end(), {{13, 0}, {14, 0}});
  return all;
}

std::string nested(const std::vector<int>& ranges) {
  if (ranges.empty()) return "no range";
  std::string text;
  for (const int r : ranges) text += (text.empty() ? "'" : "' > '") + range_name(r);
  return text + "'";
}

/// "" if the events are right for a pass whose operation `fail_at` throws (-1: none).
std::string check_events(std::span<const double> out, int layers, int fail_at) {
  const auto want = operations_of(layers);
  const std::size_t expected = fail_at < 0 ? want.size() : at(fail_at) + 1;
  if (!(out[0] >= 0 && out[0] <= static_cast<double>(out.size() - 2))) return "more ranges than a pass can have";
  std::vector<int> open;
  std::map<int, int> begun;
  std::size_t done = 0;
  for (std::size_t i = 2; i < 2 + static_cast<std::size_t>(out[0]); ++i) {
    // A layer may be any number: the submission's process writes it.
    constexpr double most_event = step_event + 1e8;
    const int event = out[i] >= leave_event && out[i] < most_event ? static_cast<int>(out[i]) : 0;
    if (event == 0 || (event >= step_event && (event - step_event) % 100 >= std::ssize(operation_names)))
      return "an operation runs for a layer that does not exist";
    if (event == leave_event) {
      if (open.empty()) return "a range that never began ends";
      open.pop_back();
    } else if (event < step_event) {
      open.push_back(event - enter_event);
      ++begun[event - enter_event];
      if (event - enter_event > layer_range)
        return "a range has a name that is not in the contract; check the spelling";
    } else {
      const int operation = (event - step_event) % 100, layer = (event - step_event) / 100;
      const std::string what = std::string(operation_names[operation]) + " of layer " + std::to_string(layer);
      if (done >= expected) return what + " runs after the last operation, or after one that failed";
      if (std::pair(operation, layer) != want[done])
        return what + " runs instead of " + operation_names[want[done].first] + " of layer " +
               std::to_string(want[done].second) + " should";
      std::vector<int> right{block_of[operation]};
      if (operation >= 1 && operation <= 12) right.insert(right.begin(), layer_range);
      if (open != right) return what + " runs in " + nested(open) + ", but should run in " + nested(right);
      ++done;
    }
  }
  if (done < expected)
    return std::string(operation_names[want[done].first]) + " of layer " + std::to_string(want[done].second) +
           " never runs";
  if (!open.empty()) return nested(open) + " never ends" + (fail_at < 0 ? "" : " if an operation throws");
  if (out[1] != (fail_at < 0 ? 0 : 1)) return "forward() must let an operation's exception through to its caller";
  // One range per block: each block's first operation begins one.
  std::map<int, int> right;
  for (std::size_t i = 0; i < expected; ++i) {
    const auto [operation, layer] = want[i];
    if (i == 0 || block_of[operation] != block_of[want[i - 1].first]) ++right[block_of[operation]];
    right[layer_range] += operation == 1;
  }
  for (const auto& [range, count] : begun)
    if (count != right[range])
      return "'" + range_name(range) + "' begins " + std::to_string(count) + " times, but should " +
             std::to_string(right[range]) + " times: one range per block";
  return {};
}

test_case ranges(int64_t layers, int64_t fail_at) {
  test_case result;
  result.id = "ranges/" + std::to_string(layers) + (fail_at < 0 ? "" : "_throws_at_" + std::to_string(fail_at));
  result.entry = "ranges";
  result.where = lab::part::host;
  const int64_t room = 64 * (layers + 1);
  result.parameters = {layers, fail_at, room};
  result.outputs = {{dtype::f64, room + 2}};
  result.inputs = [](std::uint64_t) { return lab::buffers(doubles{0}); };
  result.check = [=](std::span<const buffer>, std::span<const buffer> outputs) {
    return check_events(outputs[0].as<double>(), static_cast<int>(layers), static_cast<int>(fail_at));
  };
  return result;
}

// ---- formulas ------------------------------------------------------------------------------------------------------

const names of_shape = {"B", "T", "C", "L", "NH", "V"};

names with(names first, const names& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

formula block_work() {
  return {"block_work",
          with({"block"}, with(of_shape, {"bytes"})),
          {"FLOPs", "weight bytes", "activation bytes"},
          [](const double* in) {
            gpt2::config c;
            c.channels = static_cast<int>(in[3]);
            c.layers = static_cast<int>(in[4]);
            c.heads = static_cast<int>(in[5]);
            c.padded_vocabulary = static_cast<int>(in[6]);
            const auto w = gpt2::work_of(gpt2::all_blocks[static_cast<int>(in[0])], c, static_cast<int>(in[1]),
                                         static_cast<int>(in[2]), in[7]);
            return doubles{w.flops, w.weight_bytes, w.activation_bytes};
          },
          1e-9,
          [](const double* in) { return std::string(gpt2::name_of(gpt2::all_blocks[static_cast<int>(in[0])])); }};
}

formula bounds() {
  return {"bounds",
          {"FLOPs", "weight bytes", "activation bytes", "FLOP/s", "DRAM B/s", "L2 B/s"},
          {"cold seconds", "warm seconds", "memory_bound_cold", "memory_bound_warm"},
          [](const double* in) {
            const double compute = in[0] / in[3], cold = (in[1] + in[2]) / in[4],
                         warm = std::max(in[1] / in[4], (in[1] + in[2]) / in[5]);
            return doubles{std::max(compute, cold), std::max(compute, warm), cold > compute ? 1.0 : 0.0,
                           warm > compute ? 1.0 : 0.0};
          }};
}

/// All blocks of a shape, as rows of block_work.
doubles all_blocks(const doubles& shape, double bytes) {
  doubles rows;
  for (int b = 0; b < 9; ++b) {
    rows.push_back(b);
    rows.insert(rows.end(), shape.begin(), shape.end());
    rows.push_back(bytes);
  }
  return rows;
}

std::function<doubles(std::uint64_t)> drawn(std::size_t count, std::vector<std::pair<int64_t, int64_t>> bounds) {
  return [=](std::uint64_t seed) {
    lab::random_sizes size(seed);
    doubles rows;
    for (std::size_t i = 0; i < count; ++i)
      for (const auto& [least, most] : bounds) rows.push_back(static_cast<double>(size(least, most)));
    return rows;
  };
}

std::function<doubles(std::uint64_t)> fixed(doubles rows) {
  return [rows = std::move(rows)](std::uint64_t) { return rows; };
}

constexpr double a100_tf32[] = {156e12, 1555e9, 5e12};  // FLOP/s, DRAM and L2 bytes/s

void add_analysis(std::vector<test_case>& all) {
  doubles study = all_blocks({4, 64, 768, 12, 12, 50304}, 4);
  const doubles longer = all_blocks({4, 1024, 768, 12, 12, 50304}, 2);
  study.insert(study.end(), longer.begin(), longer.end());
  all.push_back(rows_case(block_work(), "study", fixed(study)));
  // Its counts have more digits than a float.
  all.push_back(rows_case(block_work(), "large", fixed(all_blocks({7, 9973, 1957, 13, 19, 50257}, 4))));
  all.push_back(rows_case(block_work(), "drawn", [](std::uint64_t seed) {
    lab::random_sizes size(seed);
    doubles rows;
    for (int i = 0; i < 3; ++i) {
      const auto draw = [&](int64_t least, int64_t most) { return static_cast<double>(size(least, most)); };
      const double heads = draw(1, 20);
      const doubles more = all_blocks(
          {draw(1, 9), draw(1, 999), heads * draw(1, 99), draw(1, 48), heads, draw(2, 60'000)}, size(0, 1) ? 2 : 4);
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  }));
  doubles worked;
  for (const gpt2::block b : gpt2::all_blocks) {
    const auto w = gpt2::work_of(b, {}, 4, 64, 4);
    for (const double v : {w.flops, w.weight_bytes, w.activation_bytes, a100_tf32[0], a100_tf32[1], a100_tf32[2]})
      worked.push_back(v);
  }
  all.push_back(rows_case(bounds(), "study", fixed(worked)));
  all.push_back(
      rows_case(bounds(), "drawn", drawn(12, {{0, 1000}, {0, 1000}, {1, 1000}, {1, 50}, {1, 50}, {50, 200}})));

  const formula loads{
      "load_ratio", {"a.global_ld", "a.ldgsts", "b.global_ld", "b.ldgsts"}, {"ratio"}, [](const double* in) {
        return doubles{(in[0] + in[1]) / (in[2] + in[3])};
      }};
  all.push_back(rows_case(loads, "study", fixed({2'117'914, 0, 230'208, 339'456, 0, 1000, 0, 1000})));
  all.push_back(rows_case(loads, "drawn", drawn(6, {{0, 9999}, {1, 9999}, {0, 9999}, {1, 9999}})));
  const formula streams{"residual_stream_bytes", with(of_shape, {"bytes"}), {"bytes"}, [](const double* in) {
                          return doubles{in[3] * in[0] * in[1] * in[2] * in[6]};
                        }};
  all.push_back(rows_case(streams, "study", fixed({4, 64, 768, 12, 12, 50304, 4})));
  all.push_back(rows_case(streams, "drawn", drawn(4, {{1, 9}, {1, 999}, {1, 999}, {1, 99}, {1, 9}, {1, 999}, {2, 4}})));
  const formula percent{
      "percent_of_peak", {"s0", "s1", "s2", "s3", "p0", "p1", "p2", "p3", "n"}, {"per cent"}, [](const double* in) {
        double used = 0, time = 0;
        for (int i = 0; i < static_cast<int>(in[8]); ++i) used += in[i] * in[4 + i], time += in[i];
        return doubles{used / time};
      }};
  // Two matrix products, GELU and bias.
  all.push_back(rows_case(percent, "study", fixed({20e-6, 4e-6, 20e-6, 2e-6, 45, 30, 41.8, 10, 4})));
  all.push_back(
      rows_case(percent, "drawn",
                drawn(9, {{1, 99}, {1, 99}, {1, 99}, {1, 99}, {0, 100}, {0, 100}, {0, 100}, {0, 100}, {1, 4}})));
  const formula waits{
      "seconds_without_waits", {"w0", "w1", "w2", "w3", "wait", "n"}, {"seconds"}, [](const double* in) {
        double sum = 0;
        for (int i = 0; i < static_cast<int>(in[5]); ++i) sum += std::max(0.0, in[i] - in[4]);
        return doubles{sum};
      }};
  // LayerNorm, attention, residual, MLP of a layer, in microseconds; waiting takes 13.
  all.push_back(rows_case(waits, "study", fixed({30, 101, 17, 86, 13, 4})));
  all.push_back(rows_case(waits, "drawn", drawn(9, {{1, 99}, {1, 99}, {1, 99}, {1, 99}, {1, 60}, {1, 4}})));
}

/// The predictions' questions; given code computes the answers.
test_case study() {
  test_case result;
  result.id = "study/a100_tf32";
  result.entry = "study";
  result.where = lab::part::host;
  result.outputs = {{dtype::f64, 6}};
  result.inputs = [](std::uint64_t) { return lab::buffers(std::span<const double>(a100_tf32)); };
  result.check = [](std::span<const buffer>, std::span<const buffer>) { return std::string(); };
  return result;
}

/// The kind of kernel, counted from 1, whose launch takes longest in a modelled profile; see calls.cpp.
test_case profiled() {
  test_case result = study();
  result.id = "profile/unfused";
  result.entry = "profile";
  result.outputs = {{dtype::f64, 1}};
  result.inputs = [](std::uint64_t) { return std::vector<buffer>(); };
  return result;
}

// ---- blocks --------------------------------------------------------------------------------------------------------

/// Random in [-spread, spread) around one center per row, up to `far`.
floats rows_around(int64_t rows, int64_t columns, float spread, float far, std::uint64_t seed) {
  floats x = lab::random_floats(at(rows * columns), seed);
  const floats centers = lab::random_floats(at(rows), seed + 1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = spread * x[i] + far * centers[i / at(columns)];
  return x;
}

/// Rows for a LayerNorm, around centers up to `far`. `flat`: rows whose variance is about epsilon, and one whose
/// variance is 0.
floats rows_to_normalize(int64_t rows, int64_t channels, bool flat, float far, std::uint64_t seed) {
  floats x = rows_around(rows, channels, flat ? 5e-3f : 3.0f, flat || channels < 16 ? 0.0f : far, seed);
  if (flat) std::fill_n(x.begin(), channels, 0.25f);
  // In about every second row, one element, the first or any, is far from all others.
  many_choices draw(3 * rows, seed + 4);
  for (int64_t row = 0; !flat && channels >= 16 && row < rows; ++row)
    if (const int64_t kind = draw(0, 3); kind < 2)
      x[at(row * channels + (kind == 0 ? 0 : draw(0, channels - 1)))] += static_cast<float>(draw(200, 400));
  return x;
}

floats norm_weights(int64_t channels, std::uint64_t seed) {
  floats weight = lab::random_floats(at(channels), seed + 2);
  for (float& w : weight) w += 1.5f;
  return weight;
}

/// LayerNorm of each row, computed in double.
floats normalized(std::span<const float> in, std::span<const float> weight, std::span<const float> bias) {
  const std::size_t channels = weight.size();
  floats out(in.size());
  const auto normalize = [&](std::size_t r) {
    const auto row = in.subspan(r * channels, channels);
    double mean = 0, variance = 0;
    for (const double v : row) mean += v / static_cast<double>(channels);
    for (const double v : row) variance += (v - mean) * (v - mean) / static_cast<double>(channels);
    for (std::size_t c = 0; c < row.size(); ++c)
      out[r * row.size() + c] = static_cast<float>((static_cast<double>(row[c]) - mean) / std::sqrt(variance + 1e-5) *
                                                       static_cast<double>(weight[c]) +
                                                   static_cast<double>(bias[c]));
  };
  lab::for_each_index(in.size() / channels, normalize, channels);
  return out;
}

test_case layer_norm(const std::string& entry, int64_t rows, int64_t channels, bool flat = false) {
  test_case result;
  result.id = entry + "/" + sizes({rows, channels}) + (flat ? "_flat" : "");
  result.entry = entry;
  result.parameters = {rows, channels};
  result.outputs = {{dtype::f32, rows * channels}};
  result.inputs = [=](std::uint64_t seed) {
    return lab::buffers(rows_to_normalize(rows, channels, flat, 100.0f, seed), norm_weights(channels, seed),
                        lab::random_floats(at(channels), seed + 3));
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const floats want = normalized(before[0].as<float>(), before[1].as<float>(), before[2].as<float>());
    // A single thread that adds up 4096 values near 100 is off by 1e-4 in their mean. This is divided by a deviation of
    // 1.7, which takes at least 16 numbers, and multiplied by weights of up to 2.5.
    return lab::mismatch(outputs[0].as<float>(), want, {5e-4, 1e-5}, at(channels));
  };
  result.work.bytes = 8.0 * static_cast<double>(rows * channels);
  result.work.flops = 8.0 * static_cast<double>(rows * channels);
  return result;
}

/// percent_of_peak or seconds_without_waits, for more kernels than a row of a formula holds.
test_case of_many(const std::string& entry, int64_t n) {
  test_case result;
  result.id = entry + "/" + std::to_string(n);
  result.entry = entry;
  result.where = lab::part::host;
  result.parameters = {n};
  result.outputs = {{dtype::f64, 1}};
  result.inputs = [=](std::uint64_t seed) {
    many_choices draw(2 * n, seed);
    doubles first(at(n)), second(at(n));
    for (double& one : first) one = static_cast<double>(draw(1, 99));
    for (double& one : second) one = static_cast<double>(draw(0, 60));
    return lab::buffers(first, second);
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto first = before[0].as<double>(), second = before[1].as<double>();
    double used = 0, time = 0, sum = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      used += first[i] * second[i];
      time += first[i];
      sum += std::max(0.0, first[i] - second[0]);
    }
    const double want = entry == "percent_of_peak" ? used / time : sum, got = outputs[0].as<double>()[0];
    if (std::abs(got - want) <= 1e-9 * want) return "";
    return "the result is " + std::to_string(got) + ", should be " + std::to_string(want);
  };
  return result;
}

/// `thousandths`: the scale in thousandths, 125 for heads of 64 channels.
test_case softmax(const std::string& entry, int64_t matrices, int64_t tokens, int64_t thousandths = 125) {
  test_case result;
  result.id = entry + "/" + sizes({matrices, tokens});
  result.entry = entry;
  result.parameters = {matrices, tokens, thousandths};
  const int64_t n = matrices * tokens * tokens;
  result.outputs = {{dtype::f32, n}};
  result.inputs = [=](std::uint64_t seed) {
    floats scores = rows_around(matrices * tokens, tokens, 60.0f, 1000.0f, seed);
    many_choices draw(5 * matrices * tokens, seed + 2);
    for (int64_t row = 0; row < matrices * tokens; ++row) {
      const int64_t seen = row % tokens + 1, kind = draw(0, 2);
      const auto at_row = [&](int64_t column) -> float& { return scores[at(row * tokens + column)]; };
      if (kind == 1) {
        // Two scores are so far above the others that only subtracting the true maximum keeps exp() finite, and one of
        // them is slightly higher: capping exp() does not help.
        const int64_t far = draw(0, seen - 1), apart = draw(1, std::max<int64_t>(seen - 1, 1));
        const float highest = at_row(far) += static_cast<float>(draw(3000, 6000));
        if (seen > 1) at_row((far + apart) % seen) = highest - static_cast<float>(draw(4, 40)) / 8;
      } else if (kind == 2) {
        // All are far below any plausible initial value of a maximum; and equal, so that scaling them first is exact.
        const float far = std::ldexp(static_cast<float>(draw(5, 7)), static_cast<int>(draw(16, 24)));
        for (int64_t i = 0; i < tokens; ++i) at_row(i) = -far;
      }
    }
    for (int64_t i = 0; i < n; ++i)
      if (i % tokens > i / tokens % tokens) scores[at(i)] = std::numeric_limits<float>::quiet_NaN();
    return lab::buffers(scores);
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto in = before[0].as<float>();
    floats want(in.size());
    const double scale = static_cast<float>(thousandths) * 1e-3f;
    const auto exponentiate = [&](std::size_t r) {
      const std::size_t row = r * at(tokens), seen = r % at(tokens) + 1;
      const double largest = *std::max_element(&in[row], &in[row] + seen);
      double sum = 0;
      for (std::size_t c = 0; c < seen; ++c) sum += std::exp(scale * (static_cast<double>(in[row + c]) - largest));
      for (std::size_t c = 0; c < seen; ++c)
        want[row + c] = static_cast<float>(std::exp(scale * (static_cast<double>(in[row + c]) - largest)) / sum);
    };
    lab::for_each_index(at(matrices * tokens), exponentiate, at(tokens));
    // Arguments of the exponential near 130 are off by 8e-6, twice, and its values by the same fraction.
    return lab::mismatch(outputs[0].as<float>(), want, {1e-7, 1e-4}, at(tokens));
  };
  const double seen = static_cast<double>(matrices * tokens) * static_cast<double>(tokens + 1) / 2;
  result.work.bytes = 4.0 * (seen + static_cast<double>(n));
  result.work.flops = 6.0 * seen;
  return result;
}

// ---- block.cpp -----------------------------------------------------------------------------------------------------

test_case residual_norm(int64_t rows, int64_t channels, bool flat = false) {
  test_case result = layer_norm("residual_norm", rows, channels, flat);
  const int64_t n = rows * channels;
  result.where = lab::part::host;
  result.parameters = {n, channels};  // n is also the triad's, which takes the first three inputs
  result.outputs = {{dtype::f32, n}, {dtype::f32, n}};
  result.inputs = [=](std::uint64_t seed) {
    floats y = lab::random_floats(at(n), seed + 5);
    for (float& one : y) one *= flat ? 5e-3f : 1.0f;
    if (flat) std::fill_n(y.begin(), channels, 0.25f);
    return lab::buffers(rows_to_normalize(rows, channels, flat, 200.0f, seed), y, norm_weights(channels, seed),
                        lab::random_floats(at(channels), seed + 3));
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    floats sums(before[0].as<float>().begin(), before[0].as<float>().end());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += before[1].as<float>()[i];
    if (const std::string why = lab::mismatch(outputs[0].as<float>(), sums, {}, at(channels)); !why.empty())
      return "stream: " + why;
    // Rows lie twice as far from 0 as those of layer_norm.
    const floats want = normalized(sums, before[2].as<float>(), before[3].as<float>());
    const std::string why = lab::mismatch(outputs[1].as<float>(), want, {1e-3, 1e-5}, at(channels));
    return why.empty() ? "" : "normalized: " + why;
  };
  result.work.bytes = 12.0 * static_cast<double>(n);  // the triad's traffic; the call stores the sums, too
  return result;
}

/// A row of attention_heads, computed in double.
doubles attention_row(std::span<const float> qkv, std::size_t t, std::size_t channels, std::size_t heads) {
  const std::size_t size = channels / heads;
  const auto row = [&](std::size_t u, std::size_t part) { return &qkv[(3 * u + part) * channels]; };
  doubles out(channels), share(t + 1);
  for (std::size_t first = 0; first < channels; first += size) {
    for (std::size_t u = 0; u <= t; ++u) {
      share[u] = 0;
      for (std::size_t c = first; c < first + size; ++c)
        share[u] += static_cast<double>(row(t, 0)[c]) * static_cast<double>(row(u, 1)[c]);
      share[u] /= std::sqrt(static_cast<double>(size));
    }
    const double largest = *std::max_element(share.begin(), share.end());
    double sum = 0;
    for (double& one : share) sum += one = std::exp(one - largest);
    for (std::size_t u = 0; u <= t; ++u)
      for (std::size_t c = first; c < first + size; ++c) out[c] += share[u] / sum * static_cast<double>(row(u, 2)[c]);
  }
  return out;
}

/// If `below`, all products of a query and a key are the same, far below zero.
test_case attention_heads(int64_t tokens, int64_t channels, int64_t heads, bool below = false) {
  test_case result;
  result.id = "attention_heads/" + sizes({tokens, channels, heads}) + (below ? "-below" : "");
  result.entry = "attention_heads";
  result.where = lab::part::host;
  result.parameters = {tokens, channels, tokens, heads};  // the first three are also those of Eigen's product
  result.outputs = {{dtype::f32, tokens * channels}};
  result.inputs = [=](std::uint64_t seed) {
    floats qkv = lab::random_floats(at(3 * tokens * channels), seed);
    many_choices draw(tokens, seed + 1);
    for (int64_t t = 0; t < tokens; ++t) {
      const bool far = draw(0, 2) == 0;  // so far apart that only subtracting the true maximum keeps exp() finite
      for (int64_t c = 0; c < 2 * channels; ++c) qkv[at(3 * t * channels + c)] *= far && c < channels ? 100.0f : 2.0f;
      for (int64_t c = 0; below && c < 2 * channels; ++c)
        qkv[at(3 * t * channels + c)] = c < channels ? 128.0f : -100.0f;
    }
    // Only Eigen's product takes the second input.
    return lab::buffers(qkv, lab::random_floats(at(tokens * channels), seed + 2));
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto qkv = before[0].as<float>(), got = outputs[0].as<float>();
    // Large cases are checked in some rows, chosen after the answer is known.
    constexpr int64_t most = 1 << 25, some = 48;
    const bool all = tokens * tokens * channels <= most;
    lab::random_sizes draw(lab::secret_seed());
    for (int64_t i = 0; i < (all ? tokens : some); ++i) {
      const std::size_t t = at(all ? i : draw(0, tokens - 1));
      const auto row = got.subspan(t * at(channels), at(channels));
      // In a far row, the magnitudes of a product's 64 terms add up to 3200. Each sum rounds by up to 2^-24 of that.
      // The relative error of a value's weight is the absolute error of its score, an eighth of the product. The
      // largest error seen was 7e-5.
      const std::string why = lab::mismatch(std::span<const double>(doubles(row.begin(), row.end())),
                                            attention_row(qkv, t, at(channels), at(heads)), {3e-4, 0});
      if (!why.empty()) return "row " + std::to_string(t) + ": " + why;
    }
    return "";
  };
  result.work.flops = 2.0 * static_cast<double>(tokens * channels) * static_cast<double>(tokens + 1);
  return result;
}

// ---- what the predictions ask, and the pass ------------------------------------------------------------------------

test_case residual_add(int64_t n) {
  test_case result;
  result.id = "residual_add/" + std::to_string(n);
  result.entry = "residual_add";
  result.parameters = {n};
  result.outputs = {{dtype::f32, n}};
  result.inputs = [n](std::uint64_t seed) {
    return lab::buffers(lab::random_floats(at(n), seed), lab::random_floats(at(n), seed + 1));
  };
  result.check = [](std::span<const buffer> before, std::span<const buffer> outputs) {
    floats want(before[0].as<float>().begin(), before[0].as<float>().end());
    for (std::size_t i = 0; i < want.size(); ++i) want[i] += before[1].as<float>()[i];
    return lab::mismatch(outputs[0].as<float>(), want, {});
  };
  result.work = {static_cast<double>(n), 12.0 * static_cast<double>(n)};
  return result;
}

/// Which of the student's blocks the pass calls; given code replaces the other, so that a failure names one block.
enum class block { both, layer_norm, softmax };

test_case forward(const gpt2::config& c, int64_t batch, int64_t length, block yours = block::both) {
  constexpr const char* prefixes[] = {"", "your_layer_norm_", "your_softmax_"};
  test_case result;
  result.id = "gpt2_forward/" + (prefixes[static_cast<int>(yours)] +
                                 (sizes({c.layers, c.heads, c.channels}) + "_" + sizes({batch, length})));
  result.entry = "gpt2_forward";
  result.parameters = {c.context, c.vocabulary, c.padded_vocabulary,        c.layers, c.heads, c.channels,
                       batch,     length,       static_cast<int64_t>(yours)};
  result.outputs = {{dtype::f32, batch * length * c.vocabulary}};
  const auto tokens = [=](std::uint64_t seed) {
    lab::random_sizes draw(seed + 1);
    std::vector<std::int32_t> ids;
    for (int64_t i = 0; i < batch * length; ++i) ids.push_back(static_cast<std::int32_t>(draw(0, c.vocabulary - 1)));
    return ids;
  };
  result.inputs = [=](std::uint64_t seed) {
    return lab::buffers(gpt2::random_checkpoint(c, seed).weights, tokens(seed));
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto weights = before[0].as<float>();
    const auto ids = before[1].as<std::int32_t>();
    const doubles want = gpt2::reference_logits({c, {weights.begin(), weights.end()}}, ids, static_cast<int>(batch),
                                                static_cast<int>(length));
    const auto got = outputs[0].as<float>();
    // Logits are about 0.5; the solution's blocks are off by at most 3e-7.
    return lab::mismatch(std::span<const double>(doubles(got.begin(), got.end())), want, {5e-6, 0}, at(c.vocabulary));
  };
  return result;
}

std::vector<test_case> cases() {
  std::vector<test_case> all;
  for (const int64_t layers : {1, 2, 12}) all.push_back(ranges(layers, -1));
  for (int64_t fail_at = 0; fail_at < 27; ++fail_at) all.push_back(ranges(2, fail_at));  // each operation throws once
  for (const bool sums : {false, true})
    for (const auto& [kernels, streams, threads] : {std::array{12, 1, 1}, {150, 3, 1}, {1200, 4, 2}})
      all.push_back(trace(sums, kernels, streams, threads));
  for (const auto& [blocks, metrics] : {std::array{1, 1}, {5, 2}, {9, 8}}) all.push_back(counted(blocks, metrics));
  // One thread launches the long pass: its device waits for the host for more nanoseconds than 32 bits hold.
  for (const question what : all_questions)
    for (const auto& [kernels, streams, threads] : {std::array{1, 1, 1}, {40, 1, 1}, {150, 3, 2}, {1200, 4, 1}})
      all.push_back(asked(what, kernels, streams, threads));
  all.push_back(asked(question::most_waiting, 60, 3, 1, true));
  for (const question what : all_questions)
    for (const bool given_norm : {false, true}) all.push_back(asked_own(what, given_norm));
  add_analysis(all);
  all.push_back(study());
  all.push_back(profiled());
  // 1, primes, one below and one above each multiple of a vector, a warp and a block; the study's own size.
  const std::pair<int64_t, int64_t> shapes[] = {{1, 2},    {37, 3},   {5, 31},   {5, 32},    {3, 33},  {67, 65},
                                                {7, 127},  {4, 128},  {3, 129},  {2, 767},   {9, 768}, {1, 1023},
                                                {2, 1025}, {1, 4095}, {1, 4096}, {256, 768}, {3, 1000}};
  for (const auto& [rows, channels] : shapes) all.push_back(layer_norm("layer_norm", rows, channels));
  for (const int64_t channels : {64, 100, 2048}) all.push_back(layer_norm("layer_norm", 5, channels, true));
  const std::pair<int64_t, int64_t> squares[] = {{1, 1},   {3, 2},    {2, 5},    {1, 31},  {2, 32},  {1, 33},
                                                 {3, 64},  {1, 65},   {1, 127},  {1, 129}, {8, 256}, {1, 257},
                                                 {1, 700}, {1, 1025}, {1, 1028}, {1, 2050}};
  for (const auto& [matrices, tokens] : squares)  // heads of 64 channels only if bytes are counted
    all.push_back(softmax("causal_softmax", matrices, tokens, tokens == 256 ? 125 : 62 + 16 * (tokens % 12)));
  all.push_back(layer_norm("layer_norm_unfused", 256, 768));
  all.push_back(softmax("causal_softmax_unfused", 8, 64));
  all.push_back(residual_add(196'608));
  // Each block alone in the smallest pass: a failure shows this one first.
  const gpt2::config smallest{
      .context = 16, .vocabulary = 13, .padded_vocabulary = 16, .layers = 1, .heads = 3, .channels = 36};
  for (const block yours : {block::layer_norm, block::softmax}) all.push_back(forward(smallest, 1, 7, yours));
  const gpt2::config tiny = gpt2::config_named("tiny");
  for (const auto& [batch, length] : {std::pair<int64_t, int64_t>{1, 1}, {2, 17}})
    all.push_back(forward(tiny, batch, length));
  all.push_back(forward(
      {.context = 40, .vocabulary = 13, .padded_vocabulary = 16, .layers = 3, .heads = 3, .channels = 36}, 1, 37));
  all.push_back(timed(layer_norm("layer_norm", 1 << 16, 768)));
  all.push_back(timed(softmax("causal_softmax", 192, 1024)));
  // Below, at and above a vector, a strip of rows and a block of columns.
  const std::array<int64_t, 3> attended[] = {{1, 1, 1},    {1, 6, 2},    {2, 3, 3},   {5, 12, 4},
                                             {33, 64, 64}, {37, 36, 3},  {64, 64, 1}, {65, 96, 2},
                                             {128, 48, 4}, {129, 64, 8}, {200, 65, 1}};
  for (const auto& [tokens, channels, heads] : attended) all.push_back(attention_heads(tokens, channels, heads));
  all.push_back(attention_heads(20, 4, 4, true));
  for (const auto& [rows, channels] : shapes) all.push_back(residual_norm(rows, channels));
  all.push_back(residual_norm(5, 100, true));
  all.push_back(timed(attention_heads(768, 256, 4)));
  all.push_back(timed(residual_norm(4096, 768)));
  all.push_back(timed(layer_norm("layer_norm_unfused", 1 << 16, 768)));  // shows the gain of replacing them
  all.push_back(timed(softmax("causal_softmax_unfused", 192, 1024)));
  return all;
}

/// Random sizes: no submission can prepare for them. (Formulas draw their rows from the seed anyway.)
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes size(seed);
  std::vector<test_case> all;
  for (int i = 0; i < 2; ++i) {
    const int64_t layers = size(1, 20);
    all.push_back(ranges(layers, -1));
    all.push_back(ranges(layers, size(0, 12 * layers + 2)));
    all.push_back(trace(i == 1, size(1300, 2000), size(2, 6), size(1, 3)));
    all.push_back(counted(size(10, 40), size(3, 7)));
    all.push_back(layer_norm("layer_norm", size(2, 40), size(16, 2000)));
    all.push_back(softmax("causal_softmax", size(1, 4), size(3, 200), size(50, 250)));
  }
  for (int i = 0; i < 2; ++i) {
    const int64_t heads = size(1, 6);
    all.push_back(attention_heads(size(3, 300), heads * size(1, 70), heads));
    all.push_back(residual_norm(size(2, 40), size(16, 2000)));
  }
  all.push_back(attention_heads(size(1100, 1400), size(3, 9), 1));
  all.push_back(residual_norm(size(257, 600), 33));
  for (const question what : all_questions) all.push_back(asked(what, size(200, 900), size(2, 6), size(1, 3)));
  // Larger than any case above, or as large as allowed.
  all.push_back(layer_norm("layer_norm", size(257, 600), 33));
  all.push_back(layer_norm("layer_norm", 2, size(4000, 4096)));
  all.push_back(softmax("causal_softmax", size(257, 400), size(3, 6), 125));
  all.push_back(softmax("causal_softmax", 1, size(4000, 4096), 125));
  all.push_back(ranges(size(1001, 1100), -1));
  for (const char* entry : {"percent_of_peak", "seconds_without_waits"})
    all.push_back(of_many(entry, size(1001, 3000)));
  // Cases whose counters are read.
  for (const auto& [least, most] : {std::pair<int64_t, int64_t>{2, 9}, {10, 30}, {31, 127}})
    all.push_back(like("layer_norm/256x768", layer_norm("layer_norm", 16 * size(10, 15), 32 * size(least, most))));
  all.push_back(like("causal_softmax/8x256", softmax("causal_softmax", size(7, 9), 8 * size(33, 60), 125)));
  // Timed in official grading.
  all.push_back(like("residual_norm/4096x768", timed(residual_norm(4096 + size(1, 400), 768 + 16 * size(0, 2)))));
  return all;
}

const lab::case_registration registration{"08_gpt2", cases, drawn_cases};

}  // namespace
