// Lab 05's problems: sizes, seeded inputs, what must come out, and how much work that is.
#include <lab/case.hpp>
#include <lab/compare.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace {

using lab::buffer;
using lab::dtype;
using lab::test_case;
using std::int64_t;

using floats = std::vector<float>;
using numbers = std::vector<int64_t>;

// ---- the chain ------------------------------------------------------------------------------------------------------

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// Derivative of the chain where its first two results are `first` and `second`.
double derivative(double first, double second) {
  const double third = sigmoid(second);
  return third * (1 - third) * second * (1 - second) * first * (1 - first);
}

/// Three sigmoids, each good to a few units in the last place.
constexpr lab::tolerance chain_tolerance{0.0, 2e-6};

/// 1 - first loses digits where first is near 1, up to 6e-8 absolutely; the other factors make 1/16 of that. The rest
/// is the rounding of ten operations.
constexpr lab::tolerance derivative_tolerance{2e-8, 4e-6};

/// Mostly in [-8, 8), where the sigmoid bends; some up to 120, where exp is infinite.
floats inputs_of_chain(int64_t n, std::uint64_t seed) {
  floats x = lab::random_floats(static_cast<std::size_t>(n), seed);
  lab::for_each_index(x.size(), [&](std::size_t i) { x[i] *= i % 97 == 41 ? 120.0f : 8.0f; });
  return x;
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
  result.inputs = [n](std::uint64_t seed) { return std::vector{buffer::of(inputs_of_chain(n, seed))}; };
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
    if (!stored) return std::vector{buffer::of(x), d_out};
    return std::vector{buffer::of(mapped(x, sigmoid)),
                       buffer::of(mapped(x, [](double v) { return sigmoid(sigmoid(v)); })), d_out};
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

// ---- checkpoints ----------------------------------------------------------------------------------------------------

struct cost {
  int64_t peak_bytes = 0, extra_flops = 0;
};

/// What a plan costs; `kept(i)` says whether it keeps activation i.
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

/// The least peak of any plan, or with a budget the least extra FLOPs of a plan within it: all plans are tried.
int64_t best_of_all(std::span<const int64_t> bytes, std::span<const int64_t> flops, int64_t budget) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (std::uint32_t plan = 0; plan < 1u << bytes.size(); ++plan) {
    const cost c = cost_of([plan](std::size_t i) { return (plan >> i & 1) != 0; }, bytes, flops);
    if (budget < 0)
      least = std::min(least, c.peak_bytes);
    else if (c.peak_bytes <= budget)
      least = std::min(least, c.extra_flops);
  }
  return least;
}

/// All layers alike: with k kept, the n - k others fall into k + 1 runs as even as can be.
int64_t most_kept_of_equal(int64_t layers, int64_t budget) {
  for (int64_t k = layers; k > 0; --k)
    if (k + (layers - k + k) / (k + 1) <= budget) return k;
  return 0;
}

/// A chain of `layers` layers. Random ones have at most 16 layers, and a budget `part` of the way from the least that
/// is possible to all; equal ones have a budget of about `part` times sqrt(layers) activations.
test_case checkpoints(const std::string& kind, int64_t layers, double part) {
  const bool random = kind == "random";
  test_case result;
  result.id = "choose_checkpoints/" + kind + "-" + std::to_string(layers) + "-" +
              std::to_string(static_cast<int>(std::lround(100 * part)));
  result.entry = "choose_checkpoints";
  result.where = lab::part::host;
  result.parameters = {layers};
  result.outputs = {{dtype::u8, layers}};
  result.inputs = [=](std::uint64_t seed) {
    lab::random_sizes draw(seed + static_cast<std::uint64_t>(layers));
    numbers bytes(static_cast<std::size_t>(layers), 4096), flops(static_cast<std::size_t>(layers), 1'000'000);
    auto budget = static_cast<int64_t>(4096 * std::ceil(part * std::sqrt(static_cast<double>(layers))));
    if (random) {
      for (int64_t& b : bytes) b = draw(1, 1000);
      for (int64_t& f : flops) f = draw(1, 1'000'000);
      int64_t all = 0;
      for (const int64_t b : bytes) all += b;
      const int64_t least = best_of_all(bytes, flops, -1);
      budget = least + static_cast<int64_t>(part * static_cast<double>(all - least));
    }
    return std::vector{buffer::of(bytes), buffer::of(flops), buffer::of(numbers{budget})};
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> got) -> std::string {
    const auto bytes = before[0].as<int64_t>(), flops = before[1].as<int64_t>();
    const int64_t budget = before[2].as<int64_t>()[0];
    const auto keep = got[0].as<std::uint8_t>();
    for (std::size_t i = 0; i < keep.size(); ++i)
      if (keep[i] > 1) return "keep[" + std::to_string(i) + "] is " + std::to_string(keep[i]) + ", must be 0 or 1";
    const cost c = cost_of([keep](std::size_t i) { return keep[i] == 1; }, bytes, flops);
    if (c.peak_bytes > budget)
      return "the plan needs " + std::to_string(c.peak_bytes) + " bytes, the budget is " + std::to_string(budget);
    const int64_t least = random ? best_of_all(bytes, flops, budget)
                                 : flops[0] * (layers - most_kept_of_equal(layers, budget / bytes[0]));
    if (c.extra_flops <= least) return {};
    return "the plan computes " + std::to_string(c.extra_flops) + " FLOPs again, " + std::to_string(least) +
           " are enough within the budget";
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

/// A training step of an MLP. `last_input` makes its plan or its budget; `allowed` says which peak and which FLOPs
/// again it may have.
test_case training(const std::string& entry, const std::string& name, const layer_sizes& s,
                   std::function<buffer(std::uint64_t seed)> last_input, std::function<cost(const buffer&)> allowed) {
  test_case result;
  result.id = entry + "/" + name;
  result.entry = entry;
  result.where = lab::part::host;
  result.parameters = {static_cast<int64_t>(s.layers()), s.batch};
  result.outputs = {{dtype::f32, s.weights()}, {dtype::f64, 3}};
  result.inputs = [=, last_input = std::move(last_input)](std::uint64_t seed) {
    floats weights;
    for (std::size_t l = 0; l < s.layers(); ++l)  // so large that signals neither vanish nor explode in 64 layers
      for (const float w : lab::random_floats(static_cast<std::size_t>(s.widths[l] * s.widths[l + 1]), seed + l + 2))
        weights.push_back(w * 1.8f / std::sqrt(static_cast<float>(s.widths[l])));
    return std::vector{buffer::of(s.widths), buffer::of(weights),
                       buffer::of(lab::random_floats(static_cast<std::size_t>(s.batch * s.widths.front()), seed)),
                       buffer::of(lab::random_floats(static_cast<std::size_t>(s.batch * s.widths.back()), seed + 1)),
                       last_input(seed)};
  };
  result.check = [s, allowed = std::move(allowed)](std::span<const buffer> before,
                                                   std::span<const buffer> got) -> std::string {
    const auto seen = got[1].as<double>();
    const auto number = [](double v) { return std::to_string(static_cast<int64_t>(v)); };
    if (!(seen[2] == static_cast<double>(s.layers())))
      return "computed the gradients of " + number(seen[2]) + " of " + std::to_string(s.layers()) + " layers";
    const std::vector<double> want =
        gradients_of(s, before[1].as<float>(), before[2].as<float>(), before[3].as<float>());
    const auto gradients = got[0].as<float>();
    const std::string wrong =
        lab::mismatch(std::vector<double>(gradients.begin(), gradients.end()), want, {1e-4, 1e-3});
    if (!wrong.empty()) return wrong;
    const cost most = allowed(before[4]);
    if (!(seen[0] <= static_cast<double>(most.peak_bytes)))
      return "needed " + number(seen[0]) + " bytes of activations; " + std::to_string(most.peak_bytes) + " are allowed";
    double again = seen[1];
    for (const int64_t f : s.flops()) again -= static_cast<double>(f);
    if (again <= static_cast<double>(most.extra_flops)) return {};
    return "computed " + number(again) + " FLOPs again; " + std::to_string(most.extra_flops) + " are enough";
  };
  return result;
}

/// With a given plan, which keeps a share of the activations.
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

/// With a budget, within which no plan has fewer FLOPs again than allowed: all plans were tried, or, for equal layers
/// and a budget of 2 sqrt(layers) activations, by formula.
test_case train_step(const std::string& kind, int64_t layers, double part) {
  const bool random = kind == "random";
  const layer_sizes s =
      random ? random_layers(layers) : layer_sizes{4, numbers(static_cast<std::size_t>(layers + 1), 16)};
  const numbers bytes = s.bytes(), flops = s.flops();
  int64_t budget = bytes[0] * static_cast<int64_t>(std::ceil(2 * std::sqrt(static_cast<double>(layers))));
  if (random) {
    int64_t all = 0;
    for (const int64_t b : bytes) all += b;
    const int64_t least = best_of_all(bytes, flops, -1);
    budget = least + static_cast<int64_t>(part * static_cast<double>(all - least));
  }
  const auto allowed = [=](const buffer&) {
    const int64_t least = random ? best_of_all(bytes, flops, budget)
                                 : flops[0] * (layers - most_kept_of_equal(layers, budget / bytes[0]));
    return cost{budget, least};
  };
  return training(
      "train_step", kind + "-" + std::to_string(layers) + (random ? "-" + std::to_string(std::lround(100 * part)) : ""),
      s, [=](std::uint64_t) { return buffer::of(numbers{budget}); }, allowed);
}

// ---- when it loses --------------------------------------------------------------------------------------------------

/// A host case whose outputs are only asked for by predictions.
test_case figures(std::string id, std::string entry, std::vector<int64_t> parameters, std::vector<double> given,
                  int64_t count) {
  test_case result;
  result.id = std::move(id);
  result.entry = std::move(entry);
  result.where = lab::part::host;
  result.parameters = std::move(parameters);
  result.outputs = {{dtype::f64, count}};
  result.inputs = [given](std::uint64_t) { return std::vector{buffer::of(given)}; };
  result.check = [](std::span<const buffer>, std::span<const buffer>) { return std::string(); };
  return result;
}

/// What the recomputed backward pass asks for: exponentials for each byte that it moves; and whether memory is what the
/// handout's two machines wait for then: they can do less for each byte.
test_case roofline() {
  constexpr double intensity = 3.0 / 12;
  constexpr double h200 = 132 * 16 * 1.98e9 / 2 / 4.8e12, cpu = 1 / 5e-9 / 10e9;
  return figures("roofline/backward", "roofline", {3},
                 {intensity, intensity < h200 ? 1.0 : 0.0, intensity < cpu ? 1.0 : 0.0}, 3);
}

// ---- all ------------------------------------------------------------------------------------------------------------

test_case timed(test_case base) {
  base.timed = true;
  return base;
}

std::vector<test_case> cases() {
  std::vector<test_case> all;
  for (const int64_t n : {1, 2, 3, 4, 5, 31, 33, 127, 128, 129, 1023, 1025, 4099, 250'000, 1 << 20}) {
    all.push_back(forward("forward", n));
    all.push_back(backward("backward", n));
  }
  for (const int64_t n : {33, 250'000}) {
    all.push_back(forward("forward_stored", n));
    all.push_back(backward("backward_stored", n));
  }
  for (const int64_t layers : {1, 2, 3, 5, 8, 13, 16})
    for (const double part : {0.0, 0.1, 0.4, 1.0}) all.push_back(checkpoints("random", layers, part));
  for (const int64_t layers : {9, 64, 100, 257})
    for (const double part : {2.0, 2.5}) all.push_back(checkpoints("equal", layers, part));
  for (const int64_t layers : {1, 2, 3, 8, 21, 40})
    for (const double share : {0.0, 0.3, 0.6, 1.0}) all.push_back(backpropagate(layers, share));
  for (const int64_t layers : {1, 3, 8, 12})
    for (const double part : {0.0, 0.4}) all.push_back(train_step("random", layers, part));
  all.push_back(train_step("equal", 64, 0));
  all.push_back(figures("cpu_chain/262144", "cpu_chain", {1 << 18}, {0.0}, 1));
  all.push_back(roofline());
  for (const char* way : {"", "_stored"}) {
    all.push_back(timed(forward(std::string("forward") + way, 1 << 28)));
    all.push_back(timed(backward(std::string("backward") + way, 1 << 28)));
  }
  return all;
}

/// Sizes that no one could have prepared for.
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes size(seed);
  std::vector<test_case> all;
  for (int i = 0; i < 2; ++i) {
    const int64_t n = size(5, 20'000);
    all.push_back(forward("forward", n));
    all.push_back(backward("backward", n));
    all.push_back(checkpoints("random", size(4, 15), 0.3));
    all.push_back(backpropagate(size(4, 15), 0.3));
  }
  return all;
}

const lab::case_registration registration{"05_recomputation", cases, drawn_cases};

}  // namespace
