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

// ---- the chain
// ----------------------------------------------------------------------------------------------------------

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
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= i % 97 == 41 ? 120.0f : 8.0f;
  return x;
}

floats mapped(std::span<const float> in, double (*f)(double)) {
  floats out(in.size());
  std::transform(in.begin(), in.end(), out.begin(), [f](float x) { return static_cast<float>(f(x)); });
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
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double first = stored ? static_cast<double>(in[i]) : sigmoid(static_cast<double>(in[i]));
      const double second = stored ? static_cast<double>(before[1].as<float>()[i]) : sigmoid(first);
      want[i] = static_cast<float>(static_cast<double>(d_out[i]) * derivative(first, second));
    }
    return lab::mismatch(got[0].as<float>(), want, derivative_tolerance);
  };
  result.work = {24.0 * static_cast<double>(n), (stored ? 16.0 : 12.0) * static_cast<double>(n)};
  return result;
}

// ---- checkpoints
// --------------------------------------------------------------------------------------------------------

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

// ---- all
// --------------------------------------------------------------------------------------------------------------

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
  all.push_back(timed(forward("forward", 1 << 28)));
  all.push_back(timed(backward("backward", 1 << 28)));
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
  }
  return all;
}

const lab::case_registration registration{"05_recomputation", cases, drawn_cases};

}  // namespace
