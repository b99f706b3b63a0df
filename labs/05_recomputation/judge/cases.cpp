// Lab 05's problems: sizes, seeded inputs, expected results, and how much work they take.
#include <lab/case.hpp>
#include <lab/compare.hpp>
#include <lab/figures.hpp>
#include <sim/device_file.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "account.hpp"
#include "cpu_chain.hpp"

namespace {

using lab::buffer;
using lab::dtype;
using lab::test_case;
using std::int64_t;

using floats = std::vector<float>;
using numbers = std::vector<int64_t>;

// ---- the chain ------------------------------------------------------------------------------------------------------

template <class... parts>
std::string text(const parts&... all) {
  std::ostringstream out;
  (out << ... << all);
  return out.str();
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// The derivative of the chain if its first two results are `first` and `second`.
double derivative(double first, double second) {
  const double third = sigmoid(second);
  return third * (1 - third) * second * (1 - second) * first * (1 - first);
}

/// Three sigmoids, each accurate to a few units in the last place.
constexpr lab::tolerance chain_tolerance{0.0, 2e-6};

/// If first is near 1, 1 - first may be off by up to 6e-8 here; the other factors reduce that to 1/16. The rest is the
/// rounding of ten operations. backward_digits allows no such loss.
constexpr lab::tolerance derivative_tolerance{2e-8, 4e-6};

/// Mostly in [-8, 8), where the sigmoid curves; some up to 120, where exp overflows.
floats inputs_of_chain(int64_t n, std::uint64_t seed) {
  return lab::long_tailed_floats(static_cast<std::size_t>(n), 8.0f, 120.0f, seed);
}

floats mapped(std::span<const float> in, double (*f)(double)) {
  floats out(in.size());
  lab::for_each_index(in.size(), [&](std::size_t i) { out[i] = static_cast<float>(f(in[i])); });
  return out;
}

test_case chain(std::string entry, int64_t n, std::size_t outputs) {
  test_case result;
  result.id = entry + "/" + std::to_string(n);
  result.entry = std::move(entry);
  result.parameters = {n};
  result.outputs.assign(outputs, {dtype::f32, n});
  return result;
}

test_case forward(const std::string& entry, int64_t n) {
  const bool stored = entry == "forward_stored";
  test_case result = chain(entry, n, stored ? 3 : 1);
  result.inputs = [n](std::uint64_t seed) { return lab::buffers(inputs_of_chain(n, seed)); };
  result.check = [stored](std::span<const buffer> before, std::span<const buffer> got) {
    const auto in = before[0].as<float>();
    const floats want[] = {mapped(in, [](double x) { return sigmoid(sigmoid(sigmoid(x))); }), mapped(in, sigmoid),
                           mapped(in, [](double x) { return sigmoid(sigmoid(x)); })};
    std::string wrong;
    for (std::size_t i = 0; i < (stored ? 3u : 1u) && wrong.empty(); ++i)
      wrong = lab::mismatch(got[i].as<float>(), want[i], {1e-30, chain_tolerance.relative * (i == 1 ? 10 : 1)});
    return wrong;
  };
  result.work = {12.0 * static_cast<double>(n), (stored ? 16.0 : 8.0) * static_cast<double>(n)};
  return result;
}

test_case backward(const std::string& entry, int64_t n) {
  const bool stored = entry == "backward_stored";
  test_case result = chain(entry, n, 1);
  result.inputs = [n, stored](std::uint64_t seed) {
    const floats x = inputs_of_chain(n, seed);
    const buffer d_out = buffer::of(lab::random_floats(static_cast<std::size_t>(n), seed + 1));
    if (!stored) return lab::buffers(x, d_out);
    return lab::buffers(mapped(x, sigmoid), mapped(x, [](double v) { return sigmoid(sigmoid(v)); }), d_out);
  };
  result.check = [stored](std::span<const buffer> before, std::span<const buffer> got) {
    const auto in = before[0].as<float>(), d_out = before.back().as<float>();
    floats want(in.size());
    lab::for_each_index(want.size(), [&](std::size_t i) {
      const double first = stored ? static_cast<double>(in[i]) : sigmoid(static_cast<double>(in[i]));
      const double second = stored ? static_cast<double>(before[1].as<float>()[i]) : sigmoid(first);
      want[i] = static_cast<float>(static_cast<double>(d_out[i]) * derivative(first, second));
    });
    return lab::mismatch(got[0].as<float>(), want, derivative_tolerance);
  };
  result.work = {24.0 * static_cast<double>(n), (stored ? 16.0 : 12.0) * static_cast<double>(n)};
  return result;
}

/// Forward and backward on the host. What it keeps in between (the last output) is up to the submission.
test_case chain_host(int64_t n) {
  test_case result = backward("chain_host", n);
  result.where = lab::part::host;
  result.outputs = {{dtype::f32, n}, {dtype::f32, n}, {dtype::f32, 2 * n}};
  result.check = [forward_check = forward("", n).check, backward_check = std::move(result.check)](
                     std::span<const buffer> before, std::span<const buffer> got) {
    if (const std::string wrong = forward_check(before, got); !wrong.empty()) return "forward_host: " + wrong;
    const std::string wrong = backward_check(before, got.subspan(1));
    return wrong.empty() ? wrong : "backward_host: " + wrong;
  };
  result.work = {36.0 * static_cast<double>(n), 20.0 * static_cast<double>(n)};
  return result;
}

/// The gradient has all of its digits even if the first sigmoid is close to 0 or 1. Beyond 80 it is smaller than the
/// smallest normal float.
test_case backward_digits(int64_t n) {
  test_case result = chain("backward_digits", n, 1);
  result.inputs = [n](std::uint64_t seed) {
    floats x = lab::random_floats(static_cast<std::size_t>(n), seed), d_out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      d_out[i] = x[i] < 0 ? -1.0f : 1.0f + x[i];
      x[i] = i % 2 == 0 ? 8 + 9 * std::abs(x[i]) : 80 * x[i];
    }
    return lab::buffers(x, d_out);
  };
  result.check = [](std::span<const buffer> before, std::span<const buffer> got) -> std::string {
    const auto in = before[0].as<float>(), d_out = before[1].as<float>(), out = got[0].as<float>();
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double x = static_cast<double>(in[i]), tail = std::exp(-std::abs(x));
      const double first = sigmoid(x), second = sigmoid(first), third = sigmoid(second);
      // the first s (1 - s), without subtracting nearly equal numbers
      const double want = static_cast<double>(d_out[i]) * third * (1 - third) * second * (1 - second) * tail /
                          ((1 + tail) * (1 + tail));
      if (!(std::abs(static_cast<double>(out[i]) - want) <= 4e-5 * std::abs(want)))
        return text("at x = ", x, ", d_out = ", d_out[i], ": got ", out[i], ", expected ", want, ", off by ",
                    std::abs(static_cast<double>(out[i]) / want - 1), " of it; 4e-05 is allowed");
    }
    return {};
  };
  return result;
}

// ---- checkpoints ----------------------------------------------------------------------------------------------------

/// " 1 0 1"; only the beginning of a long list.
template <class numbers>
std::string list(const numbers& values) {
  constexpr std::size_t most = 16;
  std::string all;
  for (std::size_t i = 0; i < values.size() && i < most; ++i) all += text(" ", +values[i]);
  return values.size() > most ? all + " ..." : all;
}

struct cost {
  int64_t peak_bytes = 0, extra_flops = 0;
};

/// The cost of a plan; `kept(i)` says whether it keeps activation i.
template <class predicate>
cost cost_of(predicate kept, std::span<const int64_t> bytes, std::span<const int64_t> flops) {
  int64_t held = 0, run = 0, longest = 0, extra = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (kept(i)) {
      held += bytes[i];
      run = 0;
    } else {
      run += bytes[i];
      longest = std::max(longest, run);
      extra += flops[i];
    }
  }
  return {held + longest, extra};
}

/// Tries all plans within the budget and returns the cost with the fewest extra FLOPs and, among these, the lowest
/// peak.
cost best_of_all(std::span<const int64_t> bytes, std::span<const int64_t> flops, int64_t budget) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  cost best{most, most};
  for (std::uint32_t plan = 0; plan < 1u << bytes.size(); ++plan) {
    const cost c = cost_of([plan](std::size_t i) { return (plan >> i & 1) != 0; }, bytes, flops);
    if (c.peak_bytes <= budget && std::pair(c.extra_flops, c.peak_bytes) < std::pair(best.extra_flops, best.peak_bytes))
      best = c;
  }
  return best;
}

/// A budget `part` of the way from the minimum to the maximum, then reduced until the best plan fits exactly or, if
/// `one_less`, misses by one byte.
int64_t budget_for(std::span<const int64_t> bytes, std::span<const int64_t> flops, double part, bool one_less) {
  int64_t all = 0, least = std::numeric_limits<int64_t>::max();
  for (const int64_t b : bytes) all += b;
  for (std::uint32_t plan = 0; plan < 1u << bytes.size(); ++plan)
    least = std::min(least, cost_of([plan](std::size_t i) { return (plan >> i & 1) != 0; }, bytes, flops).peak_bytes);
  const int64_t exact =
      best_of_all(bytes, flops, least + static_cast<int64_t>(part * static_cast<double>(all - least))).peak_bytes;
  return one_less && exact > least ? exact - 1 : exact;
}

/// For equal layers: with k kept, the n - k others form k + 1 runs of nearly equal length.
int64_t most_kept_of_equal(int64_t layers, int64_t budget) {
  for (int64_t k = layers; k > 0; --k)
    if (k + (layers - k + k) / (k + 1) <= budget) return k;
  return 0;
}

/// The fewest extra FLOPs, for chains with too many plans to try but few bytes in all. For each size of the longest
/// run, least[i][b] is the cost of plans that keep layer i - 1 (0: the input) and hold b bytes up to it.
int64_t least_again(std::span<const int64_t> bytes, std::span<const int64_t> flops, int64_t budget) {
  constexpr int64_t never = std::numeric_limits<int64_t>::max();
  const std::size_t end = bytes.size() + 1;
  int64_t best = never;
  for (int64_t longest = 0; longest <= budget; ++longest) {
    const auto room = static_cast<std::size_t>(budget - longest) + 1;
    std::vector<numbers> least(end + 1, numbers(room, never));
    least[0][0] = 0;
    for (std::size_t to = 1; to <= end; ++to) {
      const auto own = static_cast<std::size_t>(to < end ? bytes[to - 1] : 0);
      int64_t run = 0, again = 0;
      for (std::size_t from = to; from-- > 0 && run <= longest;) {
        for (std::size_t held = 0; held + own < room; ++held)
          if (least[from][held] != never)
            least[to][held + own] = std::min(least[to][held + own], least[from][held] + again);
        if (from > 0) run += bytes[from - 1], again += flops[from - 1];
      }
    }
    best = std::min(best, *std::min_element(least[end].begin(), least[end].end()));
  }
  return best;
}

numbers in_units(std::span<const int64_t> bytes, int64_t unit) {
  numbers all(bytes.begin(), bytes.end());
  for (int64_t& b : all) b /= unit;
  return all;
}

/// A chain of `layers` layers. Random ones have at most 20 layers and a budget by budget_for(); close ones are random
/// ones whose FLOPs differ only in bits that a double loses. Longer ones have their own entry: equal layers with a
/// budget of about `part` times sqrt(layers) activations, or mixed layers of 1 to 4 bytes or GiB with a budget in
/// those.
test_case checkpoints(const std::string& kind, int64_t layers, double part) {
  const bool close = kind == "close", random = close || kind == "random", mixed = kind == "mixed";
  const int64_t mixed_unit = part > 2.5 ? int64_t{1} << 30 : 1;
  test_case result;
  result.entry = random ? "choose_checkpoints" : "choose_checkpoints_long";
  result.id = result.entry + "/" + kind + "-" + std::to_string(layers) + "-" +
              std::to_string(static_cast<int>(std::lround(100 * part)));
  result.where = lab::part::host;
  result.parameters = {layers};
  result.outputs = {{dtype::u8, layers}};
  result.inputs = [=](std::uint64_t seed) {
    lab::random_sizes draw(seed + static_cast<std::uint64_t>(layers));
    // Includes realistic sizes: gigabytes, and 1e12 FLOPs.
    const bool large = random ? part == 0.1 : part > 2;
    const int64_t unit = large ? 1 << 30 : 4096, work = large ? 1'000'000'000'000 : 1'000'000;
    numbers bytes(static_cast<std::size_t>(layers), unit), flops(static_cast<std::size_t>(layers), work);
    int64_t budget = unit * static_cast<int64_t>(std::ceil(part * std::sqrt(static_cast<double>(layers))));
    if (random) {
      for (int64_t& b : bytes) b = draw(1, 1000) * (large ? 1 << 26 : 1);
      for (int64_t& f : flops) f = close ? (int64_t{1} << 58) + draw(0, 15) : draw(1, 1000) * (work / 1000);
      budget = budget_for(bytes, flops, part, part > 0.3);
    }
    if (mixed) {
      for (int64_t& b : bytes) b = draw(1, 4) * mixed_unit;
      for (int64_t& f : flops) f = draw(1, 1000);
      budget = static_cast<int64_t>(std::ceil(2.5 * part * std::sqrt(static_cast<double>(layers)))) * mixed_unit;
      if (mixed_unit > 1) ++bytes[0], ++budget;  // no common divisor, and the same plans fit
    }
    return lab::buffers(bytes, flops, numbers{budget});
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> got) -> std::string {
    const auto bytes = before[0].as<int64_t>(), flops = before[1].as<int64_t>();
    const int64_t budget = before[2].as<int64_t>()[0];
    const auto keep = got[0].as<std::uint8_t>();
    for (std::size_t i = 0; i < keep.size(); ++i)
      if (keep[i] > 1) return text("keep[", i, "] is ", int{keep[i]}, ", should be 0 or 1");
    const cost c = cost_of([keep](std::size_t i) { return keep[i] == 1; }, bytes, flops);
    const std::string problem = random || mixed ? text("; bytes", list(bytes), ", flops", list(flops))
                                                : text("; each ", bytes[0], " bytes, ", flops[0], " FLOPs");
    const std::string plan = text("budget ", budget, " bytes, keep", list(keep), problem);
    if (c.peak_bytes > budget) return text("the plan's peak is ", c.peak_bytes, " bytes: ", plan);
    const int64_t least = random  ? best_of_all(bytes, flops, budget).extra_flops
                          : mixed ? least_again(in_units(bytes, mixed_unit), flops, budget / mixed_unit)
                                  : flops[0] * (layers - most_kept_of_equal(layers, budget / bytes[0]));
    if (c.extra_flops <= least) return {};
    return text("the plan recomputes ", c.extra_flops, " FLOPs; ", least, " are enough: ", plan);
  };
  return result;
}

// ---- an MLP with checkpoints ----------------------------------------------------------------------------------------

struct layer_sizes {
  int64_t batch = 0;
  numbers widths;  ///< of the input and of each layer
  std::size_t layers() const { return widths.size() - 1; }
  numbers bytes() const {
    numbers all;
    for (std::size_t i = 0; i < layers(); ++i) all.push_back(4 * batch * widths[i + 1]);
    return all;
  }
  numbers flops() const {
    numbers all;
    for (std::size_t i = 0; i < layers(); ++i) all.push_back(2 * batch * widths[i] * widths[i + 1]);
    return all;
  }
  int64_t weights() const {
    int64_t all = 0;
    for (std::size_t i = 0; i < layers(); ++i) all += widths[i] * widths[i + 1];
    return all;
  }
};

layer_sizes random_layers(int64_t layers) {
  lab::random_sizes draw(static_cast<std::uint64_t>(layers));
  layer_sizes result{draw(3, 9), {draw(4, 40)}};
  for (int64_t i = 0; i < layers; ++i) result.widths.push_back(draw(4, 40));
  return result;
}

/// The gradients of all weights, in double: a_i = tanh(a_(i-1) W_i).
std::vector<double> gradients_of(const layer_sizes& s, std::span<const float> weights, std::span<const float> in,
                                 std::span<const float> d_out) {
  const auto size = [](int64_t n) { return static_cast<std::size_t>(n); };
  std::vector<std::vector<double>> a{{in.begin(), in.end()}};
  std::vector<std::size_t> starts{0};
  for (std::size_t l = 0; l < s.layers(); ++l) {
    const std::size_t from = size(s.widths[l]), to = size(s.widths[l + 1]);
    std::vector<double> out(size(s.batch) * to);
    for (std::size_t b = 0; b < size(s.batch); ++b)
      for (std::size_t j = 0; j < to; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < from; ++k)
          sum += a[l][b * from + k] * static_cast<double>(weights[starts[l] + k * to + j]);
        out[b * to + j] = std::tanh(sum);
      }
    a.push_back(std::move(out));
    starts.push_back(starts[l] + from * to);
  }
  std::vector<double> all(size(s.weights())), d(d_out.begin(), d_out.end());
  for (std::size_t l = s.layers(); l-- > 0;) {
    const std::size_t from = size(s.widths[l]), to = size(s.widths[l + 1]);
    std::vector<double> d_before(size(s.batch) * from);
    for (std::size_t b = 0; b < size(s.batch); ++b)
      for (std::size_t j = 0; j < to; ++j) {
        const double d_sum = d[b * to + j] * (1 - a[l + 1][b * to + j] * a[l + 1][b * to + j]);
        for (std::size_t k = 0; k < from; ++k) {
          all[starts[l] + k * to + j] += a[l][b * from + k] * d_sum;
          d_before[b * from + k] += d_sum * static_cast<double>(weights[starts[l] + k * to + j]);
        }
      }
    d = std::move(d_before);
  }
  return all;
}

/// A training step of an MLP. `last_input` returns its plan or its budget; `allowed` limits its peak and extra FLOPs.
test_case training(const std::string& entry, const std::string& name, const layer_sizes& s,
                   std::function<buffer(std::uint64_t seed)> last_input, std::function<cost(const buffer&)> allowed) {
  test_case result;
  result.id = entry + "/" + name;
  result.entry = entry;
  result.where = lab::part::host;
  result.parameters = {static_cast<int64_t>(s.layers()), s.batch};
  const auto layers = static_cast<int64_t>(s.layers());
  // Room for most_calls() of mlp.hpp.
  result.outputs = {{dtype::f32, s.weights()}, {dtype::i64, 1 + 8 * layers * (layers + 2)}, {dtype::u8, layers}};
  result.inputs = [=, last_input = std::move(last_input)](std::uint64_t seed) {
    floats weights;
    for (std::size_t l = 0; l < s.layers(); ++l)  // scaled so that signals neither vanish nor explode in 64 layers
      for (const float w : lab::random_floats(static_cast<std::size_t>(s.widths[l] * s.widths[l + 1]), seed + l + 2))
        weights.push_back(w * 1.8f / std::sqrt(static_cast<float>(s.widths[l])));
    return lab::buffers(
        s.widths, weights, lab::random_floats(static_cast<std::size_t>(s.batch * s.widths.front()), seed),
        lab::random_floats(static_cast<std::size_t>(s.batch * s.widths.back()), seed + 1), last_input(seed));
  };
  result.check = [s, allowed = std::move(allowed)](std::span<const buffer> before,
                                                   std::span<const buffer> got) -> std::string {
    const auto record = got[1].as<int64_t>();
    const auto keep = got[2].as<std::uint8_t>();
    lab05::account seen(s.bytes(), s.flops());
    std::string calls = text("with keep", list(keep), " after");
    for (std::size_t i = 1; i + 1 < record.size() && i <= 2 * static_cast<std::size_t>(std::max<int64_t>(record[0], 0));
         i += 2) {
      const lab05::network_call now{record[i], record[i + 1]};
      constexpr const char* names[] = {"forward", "drop", "backward"};
      const std::string made = now.what < 0 || now.what > 2 ? "?" : text(" ", names[now.what], "(", now.layer, ")");
      if (const std::string why = seen.enter(now); !why.empty()) return text(calls, ", then", made, ": ", why);
      if (i < 40) calls += made;
      if (i == 41) calls += " ...";
    }
    if (seen.gradients_left() > 0)
      return text(calls, ": the gradients of the first ", seen.gradients_left(), " layers were not requested");
    const std::vector<double> want =
        gradients_of(s, before[1].as<float>(), before[2].as<float>(), before[3].as<float>());
    const auto gradients = got[0].as<float>();
    const std::string wrong =
        lab::mismatch(std::vector<double>(gradients.begin(), gradients.end()), want, {1e-4, 1e-3});
    if (!wrong.empty()) return wrong;
    const cost most = allowed(before[4]);
    if (seen.peak_bytes() > most.peak_bytes)
      return text("needed ", seen.peak_bytes(), " bytes of activations; ", most.peak_bytes, " are allowed: ", calls);
    int64_t again = seen.forward_flops();
    for (const int64_t f : s.flops()) again -= f;
    if (again <= most.extra_flops) return {};
    return text("recomputed ", again, " FLOPs; ", most.extra_flops, " are enough: ", calls);
  };
  return result;
}

/// A step with a given plan that keeps this share of the activations.
test_case backpropagate(int64_t layers, double share) {
  const layer_sizes s = random_layers(layers);
  const auto plan = [=](std::uint64_t seed) {
    std::vector<std::uint8_t> keep;
    for (const float v : lab::random_floats(s.layers(), seed + 1000)) keep.push_back(v < 2 * share - 1);
    return buffer::of(keep);
  };
  const auto allowed = [=](const buffer& last) {
    const auto keep = last.as<std::uint8_t>();
    return cost_of([keep](std::size_t i) { return keep[i] == 1; }, s.bytes(), s.flops());
  };
  return training("backpropagate", std::to_string(layers) + "-" + std::to_string(std::lround(100 * share)), s, plan,
                  allowed);
}

/// A step with a budget; the allowed extra FLOPs are those of the best plan, found by trying all plans or, for equal
/// layers and a budget of 2 sqrt(layers) activations, by formula.
test_case train_step(const std::string& kind, int64_t layers, double part) {
  const bool random = kind == "random";
  const layer_sizes s =
      random ? random_layers(layers) : layer_sizes{4, numbers(static_cast<std::size_t>(layers + 1), 16)};
  const numbers bytes = s.bytes(), flops = s.flops();
  int64_t budget = bytes[0] * static_cast<int64_t>(std::ceil(2 * std::sqrt(static_cast<double>(layers))));
  if (random) budget = budget_for(bytes, flops, part, false);
  const auto allowed = [=](const buffer&) {
    const int64_t least = random ? best_of_all(bytes, flops, budget).extra_flops
                                 : flops[0] * (layers - most_kept_of_equal(layers, budget / bytes[0]));
    return cost{budget, least};
  };
  return training(
      "train_step", kind + "-" + std::to_string(layers) + (random ? "-" + std::to_string(std::lround(100 * part)) : ""),
      s, [=](std::uint64_t) { return buffer::of(numbers{budget}); }, allowed);
}

// ---- when it loses --------------------------------------------------------------------------------------------------

/// What the recomputed backward pass needs: exponentials per byte moved; and whether the handout's two machines have
/// time for more, that is, wait for memory.
test_case roofline() {
  constexpr double intensity = 3.0 / 12;
  const sim::device_file device(LAB_DEVICES, "h200");
  const double h200 = device.number("multiprocessors") * 16 * device.number("sm_clock_hertz") / 2 /
                      device.number("dram_bytes_per_second");
  const double cpu = 1 / 5e-9 / 10e9;
  return lab::figures_case("roofline/backward", [=] {
    return std::vector{intensity, intensity < h200 ? 1.0 : 0.0, intensity < cpu ? 1.0 : 0.0};
  });
}

// ---- all ------------------------------------------------------------------------------------------------------------

std::vector<test_case> cases() {
  std::vector<test_case> all;
  for (const int64_t n : {1, 2, 3, 4, 5, 31, 33, 127, 128, 129, 1023, 1025, 4099, 250'000, 1 << 20}) {
    all.push_back(forward("forward", n));
    all.push_back(backward("backward", n));
    all.push_back(chain_host(n));
  }
  for (const int64_t n : {33, 250'000}) {
    all.push_back(forward("forward_stored", n));
    all.push_back(backward("backward_stored", n));
  }
  for (int64_t layers = 1; layers <= 16; ++layers)
    for (const double part : {0.0, 0.1, 0.4, 1.0}) all.push_back(checkpoints("random", layers, part));
  all.push_back(checkpoints("random", 20, 0.1));
  all.push_back(checkpoints("close", 12, 0.4));
  for (const int64_t layers : {9, 64, 100, 257})
    for (const double part : {2.0, 2.5}) all.push_back(checkpoints("equal", layers, part));
  for (const double part : {2.5, 3.0, 4.0}) all.push_back(checkpoints("mixed", 60, part));
  for (const int64_t layers : {1, 2, 3, 8, 21, 40, 100})
    for (const double share : {0.0, 0.3, 0.6, 1.0}) all.push_back(backpropagate(layers, share));
  for (const int64_t layers : {1, 3, 8, 12})
    for (const double part : {0.0, 0.4}) all.push_back(train_step("random", layers, part));
  all.push_back(train_step("equal", 64, 0));
  all.push_back(
      lab::figures_case("cpu_chain/262144", [] { return std::vector{lab05::recomputed_over_stored(1 << 18)}; }));
  for (const int64_t n : {1, 4096, 4099, 4101}) all.push_back(backward_digits(n));
  all.push_back(roofline());
  for (const char* way : {"", "_stored"}) {
    all.push_back(timed(forward(std::string("forward") + way, 1 << 28)));
    all.push_back(timed(backward(std::string("backward") + way, 1 << 28)));
  }
  all.push_back(timed(chain_host(1 << 22)));
  return all;
}

/// Random sizes: no submission can prepare for them.
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes size(seed);
  std::vector<test_case> all;
  for (int i = 0; i < 2; ++i) {
    const int64_t n = size(5, 20'000);
    all.push_back(forward("forward", n));
    all.push_back(backward("backward", n));
    all.push_back(chain_host(n));
    all.push_back(checkpoints("equal", size(10, 257), 0.01 * static_cast<double>(size(200, 250))));
    all.push_back(backpropagate(size(4, 15), 0.3));
    all.push_back(train_step("random", size(4, 12), 0.2));
  }
  // Larger than any case above.
  for (const int64_t n : {(1 << 20) + size(1, 9999), 8192 * size(40, 100)}) {
    const bool counted = n < 1 << 20;
    all.push_back(lab::like(counted ? "forward/1048576" : "", forward("forward", n)));
    all.push_back(lab::like(counted ? "backward/1048576" : "", backward("backward", n)));
  }
  all.push_back(checkpoints("equal", size(401, 500), 2.2));
  all.push_back(checkpoints("random", size(17, 20), 0.2));
  all.push_back(backward_digits(size(4102, 20'000)));
  all.push_back(checkpoints("mixed", size(61, 80), 2.5));
  all.push_back(backpropagate(size(129, 150), 0.3));
  // Timed in official grading.
  all.push_back(lab::like("chain_host/4194304", timed(chain_host((1 << 22) + size(1, 99'999)))));
  return all;
}

const lab::case_registration registration{"05_recomputation", cases, drawn_cases};

}  // namespace
