// Lab 14's problems: gradients of GELU and LayerNorm, cross-entropy, AdamW, the plan and the order of a training step.
// Expected values are computed in double; each tolerance follows from the roundings of a float computation.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <lab/case.hpp>
#include <lab/compare.hpp>
#include <lab/figures.hpp>
#include <limits>
#include <mutex>
#include <sim/device_file.hpp>
#include <string>
#include <utility>

#include "step_cases.hpp"

namespace {

using lab::buffer;
using lab::dtype;
using lab::test_case;
using std::int64_t;
using floats = std::vector<float>;

constexpr double unit = 0x1p-24;  // a float's relative rounding error

std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }
double real(float x) { return static_cast<double>(x); }
int64_t bits(float x) { return std::bit_cast<std::int32_t>(x); }

/// An expected value, and how far a result may be from it.
struct bound {
  double want, allowed;
};

/// "" if each element i of `got` is within expected(i); otherwise how many are not, and the first of them.
template <class Expected>
std::string mismatch(const char* name, std::span<const float> got, const Expected& expected,
                     std::size_t row_length = 0) {
  std::mutex turn;
  std::size_t wrong = 0, first_wrong = got.size();
  lab::in_parallel(got.size(), [&](std::size_t first, std::size_t last) {
    std::size_t here = 0, where = got.size();
    for (std::size_t i = first; i < last; ++i) {
      const bound b = expected(i);
      if (std::abs(real(got[i]) - b.want) <= b.allowed) continue;
      if (here++ == 0) where = i;
    }
    const std::lock_guard guard(turn);
    wrong += here, first_wrong = std::min(first_wrong, where);
  });
  if (wrong == 0) return {};
  const bound b = expected(first_wrong);
  const std::string place = row_length == 0 ? std::to_string(first_wrong)
                                            : fmt::format("{}, {}", first_wrong / row_length, first_wrong % row_length);
  return fmt::format("{} of {} elements of {} are wrong; [{}] is {:.8g}, should be {:.8g}, and may be off by {:.2g}",
                     wrong, got.size(), name, place, got[first_wrong], b.want, b.allowed);
}

// ---- GELU ----------------------------------------------------------------------------------------------------------

/// Inputs up to 120 in magnitude, where exponentials of the cube are infinite, and some so large that the square is,
/// too. The two terms of the derivative are below 5; where 1 - tanh^2 is a difference, each factor of the second is off
/// by a few times 2^-24, in absolute terms.
test_case gelu_backward(int64_t n) {
  constexpr double absolute = 5e-6, relative = 4e-6;
  test_case c;
  c.entry = "gelu_backward";
  c.id = fmt::format("gelu_backward/{}", n);
  c.parameters = {n};
  c.outputs = {{dtype::f32, n}};
  c.inputs = [n](std::uint64_t seed) {
    floats in = lab::long_tailed_floats(at(n), 6.0f, 120.0f, seed);
    for (float& x : in)
      if (std::abs(x) > 115.0f) x *= 1e28f;
    return lab::buffers(in, lab::random_floats(at(n), seed + 1));
  };
  c.check = [](std::span<const buffer> before, std::span<const buffer> got) {
    const auto in = before[0].as<float>(), d_out = before[1].as<float>();
    return mismatch("d_in", got[0].as<float>(), [&](std::size_t i) {
      const double x = real(in[i]), root = std::sqrt(2 / M_PI);
      const double t = std::tanh(root * (x + 0.044715 * x * x * x));
      // Beyond 40, 1 - t * t is 0 and the rest might be infinite.
      const double second = std::abs(x) > 40 ? 0 : x / 2 * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
      const double d = real(d_out[i]), want = d * ((1 + t) / 2 + second);
      return bound{want, absolute * std::abs(d) + relative * std::abs(want)};
    });
  };
  c.work = {20.0 * static_cast<double>(n), 12.0 * static_cast<double>(n)};
  return c;
}

// ---- LayerNorm -----------------------------------------------------------------------------------------------------

/// Rows whose mean is far from 0 or near it, some nearly constant: their rstd is near 316. All outputs already hold
/// numbers. If `again`, two calls must agree in every bit.
test_case layer_norm_backward(int64_t rows, int64_t channels, bool again = false) {
  test_case c;
  c.entry = again ? "layer_norm_backward_again" : "layer_norm_backward";
  c.id = fmt::format("{}/{}x{}", c.entry, rows, channels);
  c.parameters = {rows, channels};
  for (int call = 0; call < (again ? 2 : 1); ++call)
    for (const int64_t size : {rows * channels, channels, channels, 256 * channels})
      c.outputs.push_back({dtype::f32, size});
  c.inputs = [=](std::uint64_t seed) {
    floats x = lab::random_floats(at(rows * channels), seed), weight = lab::random_floats(at(channels), seed + 1);
    floats mean(at(rows)), rstd(at(rows));
    for (float& w : weight) w += 1.5f;
    weight[at(static_cast<int64_t>(seed % 1000) % channels)] = 0;
    lab::for_each_index(
        at(rows),
        [&](std::size_t r) {
          const std::span row(x.data() + r * at(channels), at(channels));
          const auto kind = (r + seed) % 4;
          for (float& one : row) one = kind == 0 ? 0.003f * one : kind == 1 ? one + 100.0f : 3.0f * one - 0.5f;
          double sum = 0, squares = 0;
          for (const float one : row) sum += real(one);
          for (const float one : row) squares += std::pow(real(one) - sum / static_cast<double>(channels), 2);
          mean[r] = static_cast<float>(sum / static_cast<double>(channels));
          rstd[r] = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(channels) + 1e-5));
        },
        at(channels));
    floats d_weight = lab::random_floats(at(channels), seed + 2), d_bias = lab::random_floats(at(channels), seed + 3);
    for (float& d : d_weight) d *= 10.0f;
    return lab::buffers(x, weight, mean, rstd, lab::random_floats(x.size(), seed + 4),
                        lab::random_floats(x.size(), seed + 5), d_weight, d_bias);
  };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> got) -> std::string {
    const auto x = before[0].as<float>(), weight = before[1].as<float>(), mean = before[2].as<float>(),
               rstd = before[3].as<float>(), d_out = before[4].as<float>(), d_x = before[5].as<float>();
    const std::size_t columns = at(channels);
    const auto normal = [&](std::size_t r, std::size_t i) { return (real(x[i]) - real(mean[r])) * real(rstd[r]); };
    struct of_row {
      double g = 0, g_normal = 0, g_size = 0, g_normal_size = 0;  // means; the last two, of absolute values
    };
    std::vector<of_row> of(at(rows));
    lab::for_each_index(
        of.size(),
        [&](std::size_t r) {
          of_row& s = of[r];
          for (std::size_t i = r * columns; i < (r + 1) * columns; ++i) {
            const double g = real(d_out[i]) * real(weight[i - r * columns]), g_normal = g * normal(r, i);
            s.g += g, s.g_normal += g_normal, s.g_size += std::abs(g), s.g_normal_size += std::abs(g_normal);
          }
          for (double* one : {&s.g, &s.g_normal, &s.g_size, &s.g_normal_size}) *one /= static_cast<double>(channels);
        },
        columns);
    // A sum of n numbers in any order is off by at most n roundoffs times the sum of their magnitudes; a few more
    // follow.
    const double sum = (static_cast<double>(channels) + 8) * unit, few = 8 * unit;
    std::string wrong = mismatch(
        "d_x", got[0].as<float>(),
        [&](std::size_t i) {
          const std::size_t r = i / columns;
          const of_row& s = of[r];
          const double g = real(d_out[i]) * real(weight[i % columns]), n = normal(r, i), scale = real(rstd[r]);
          return bound{
              real(d_x[i]) + scale * (g - s.g - n * s.g_normal),
              few * std::abs(real(d_x[i])) + scale * (few * (std::abs(g) + std::abs(s.g) + std::abs(n * s.g_normal)) +
                                                      sum * (s.g_size + std::abs(n) * s.g_normal_size))};
        },
        columns);
    if (!wrong.empty()) return wrong;
    // A sum over rows is rounded up and down: after n additions of terms of both signs it is off by about 0.2 n units
    // of their root mean square, after n of one sign by about 0.2 n sqrt(n). A single missing term makes a larger
    // difference than either.
    const double n = static_cast<double>(rows);
    for (std::size_t which = 0; which < 2 && wrong.empty(); ++which) {
      std::vector<double> sums(columns), squares(columns);
      lab::in_parallel(
          columns,
          [&](std::size_t first, std::size_t last) {
            for (std::size_t r = 0; r < at(rows); ++r)
              for (std::size_t column = first; column < last; ++column) {
                const std::size_t i = r * columns + column;
                const double term = real(d_out[i]) * (which == 0 ? normal(r, i) : 1);
                sums[column] += term, squares[column] += term * term;
              }
          },
          at(rows));
      const auto held = before[6 + which].as<float>();
      wrong = mismatch(which == 0 ? "d_weight" : "d_bias", got[1 + which].as<float>(), [&](std::size_t i) {
        return bound{real(held[i]) + sums[i],
                     (4 + std::sqrt(n)) * unit * (std::sqrt(n * squares[i]) + std::abs(real(held[i])))};
      });
    }
    for (std::size_t i = 0; again && i < 3 && wrong.empty(); ++i)
      if (!std::ranges::equal(got[i].bytes(), got[4 + i].bytes()))
        wrong = fmt::format("a second call with the same inputs gives other bits in {}",
                            std::array{"d_x", "d_weight", "d_bias"}[i]);
    return wrong;
  };
  const auto elements = static_cast<double>(rows * channels);
  // Includes the copy that gives d_x its first value.
  c.work = {16 * elements, 24 * elements};
  return c;
}

// ---- cross-entropy -------------------------------------------------------------------------------------------------

/// Rows of all kinds: ordinary; around 1e4 and -1e4, the ends of the range; one logit, anywhere, far above the others;
/// all equal. One target in eight is ignored. Padding is NaN, or larger than any logit.
test_case cross_entropy(int64_t rows, int64_t vocabulary, int64_t pitch, float scale) {
  test_case c;
  c.entry = "cross_entropy";
  c.id = fmt::format("cross_entropy/{}x{}-{}", rows, vocabulary, pitch);
  c.parameters = {rows, vocabulary, pitch, bits(scale)};
  c.outputs = {{dtype::f32, rows}, {dtype::f32, rows * pitch}};
  c.inputs = [=](std::uint64_t seed) {
    floats logits = lab::random_floats(at(rows * pitch), seed);
    std::vector<std::int32_t> targets(at(rows));
    lab::random_sizes draw(seed + 1);
    for (std::size_t r = 0; r < at(rows); ++r) {
      const std::span row(logits.data() + r * at(pitch), at(pitch)), used = row.first(at(vocabulary));
      const auto kind = (r + seed) % 8;
      targets[r] = kind == 3 && rows > 1 ? -1 : static_cast<std::int32_t>(draw(0, vocabulary - 1));
      if (r % 16 == 1) targets[r] = static_cast<std::int32_t>(vocabulary) - 1;
      if (kind == 0)
        for (float& x : used) x *= 1e4f;
      else if (kind == 1)
        for (float& x : used) x = 8.0f * x - 9992.0f;
      else if (kind == 2)
        for (float& x : used) x = 8.0f * x + 9992.0f;
      else if (kind == 4)
        std::fill(used.begin(), used.end(), used[0]);
      else
        for (float& x : used) x *= kind == 5 ? 40.0f : 4.0f;
      const int64_t place = std::array{int64_t{0}, vocabulary - 1, draw(0, vocabulary - 1)}[r / 8 % 3];
      if (kind == 6) used[at(place)] = 30.0f;
      if (kind == 7) used[at(place)] = 1e4f;
      const float padding = r % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : 3e38f;
      std::fill(row.begin() + vocabulary, row.end(), padding);
    }
    return lab::buffers(std::move(logits), std::move(targets));
  };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> got) -> std::string {
    const auto logits = before[0].as<float>();
    const auto targets = before[1].as<std::int32_t>();
    std::vector<double> largest(at(rows)), sums(at(rows));
    lab::for_each_index(
        at(rows),
        [&](std::size_t r) {
          const auto row = logits.subspan(r * at(pitch), at(vocabulary));
          largest[r] = real(*std::max_element(row.begin(), row.end()));
          for (const float x : row) sums[r] += std::exp(real(x) - largest[r]);
        },
        at(vocabulary));
    std::string wrong = mismatch("losses", got[0].as<float>(), [&](std::size_t r) {
      if (targets[r] < 0) return bound{0, 0};
      const double own = real(logits[r * at(pitch) + at(targets[r])]);
      return bound{std::log(sums[r]) + (largest[r] - own), 1e-5 + 4 * unit * (std::abs(largest[r]) + std::abs(own))};
    });
    if (!wrong.empty()) return wrong;
    // exp(x) in float is off by |x| roundings and a few more; so is the sum, since x is small in the terms that matter.
    return mismatch(
        "the gradient", got[1].as<float>(),
        [&](std::size_t i) {
          const std::size_t r = i / at(pitch), v = i % at(pitch);
          if (targets[r] < 0 || v >= at(vocabulary)) return bound{0, 0};
          const double x = real(logits[i]) - largest[r], p = std::exp(x) / sums[r];
          const double want = real(scale) * (p - (v == at(targets[r]) ? 1 : 0));
          return bound{
              want, std::abs(real(scale)) * (p * (8e-6 + 4 * unit * std::abs(x)) + 1e-36) + 4 * unit * std::abs(want)};
        },
        at(pitch));
  };
  const auto elements = static_cast<double>(rows * pitch);
  // Includes the copy that initializes the logits; a kernel may keep a row on the chip, and so read it only once.
  c.work = {8 * elements, 16 * elements};
  return c;
}

// ---- AdamW ---------------------------------------------------------------------------------------------------------

struct settings {
  float learning_rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, weight_decay = 0.1f;
};

/// Gradients are between 1e-9, far below epsilon's square root, and 1000. The first step has m = v = 0. In any step,
/// one parameter in eight has g = 0, and half of these have v = m = 0, too.
test_case adamw(const std::string& entry, int64_t n, int64_t step, const settings& s) {
  test_case c;
  c.entry = entry;
  c.id = fmt::format("{}/{}-{}", entry, n, step);
  c.where = entry == "adamw_host" ? lab::part::host : lab::part::device;
  c.parameters = {n, step, bits(s.learning_rate), bits(s.beta1), bits(s.beta2), bits(s.epsilon), bits(s.weight_decay)};
  c.outputs.assign(3, {dtype::f32, n});
  c.inputs = [=](std::uint64_t seed) {
    floats w = lab::random_floats(at(n), seed), m = lab::random_floats(at(n), seed + 1),
           v = lab::random_floats(at(n), seed + 2), g = lab::random_floats(at(n), seed + 3),
           size = lab::random_floats(at(n), seed + 4);
    lab::for_each_index(at(n), [&](std::size_t i) {
      const float magnitude = std::exp2(20.0f * size[i] - 10.0f), gradient = std::abs(v[i]) < 0.125f ? 0.0f : 1.0f,
                  none = w[i] < 0 ? gradient : 1.0f;
      g[i] *= magnitude * gradient;
      v[i] = step == 1 ? 0.0f : none * (magnitude * v[i]) * (magnitude * v[i]);
      m[i] *= step == 1 ? 0.0f : none * magnitude;
    });
    return lab::buffers(std::move(w), std::move(m), std::move(v), std::move(g));
  };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> got) -> std::string {
    const auto w = before[0].as<float>(), m = before[1].as<float>(), v = before[2].as<float>(),
               g = before[3].as<float>();
    const double b1 = real(s.beta1), b2 = real(s.beta2), rate = real(s.learning_rate),
                 count = static_cast<double>(step);
    const auto new_v = [&](std::size_t i) { return b2 * real(v[i]) + (1 - b2) * real(g[i]) * real(g[i]); };
    const auto new_m = [&](std::size_t i, double sign) {
      const double first = b1 * real(m[i]), second = (1 - b1) * real(g[i]);
      return sign < 0 ? std::abs(first) + std::abs(second) : first + second;
    };
    std::string wrong = mismatch("m", got[1].as<float>(), [&](std::size_t i) {
      return bound{new_m(i, 1), 4 * unit * new_m(i, -1)};
    });
    if (wrong.empty())  // below 1e-37 floats lose digits
      wrong = mismatch("v", got[2].as<float>(), [&](std::size_t i) {
        return bound{new_v(i), 6 * unit * new_v(i) + 1e-37};
      });
    if (!wrong.empty()) return wrong;
    // If the power is a float, 1 - beta2^2 has a relative error of 6e-5; the square root halves that.
    constexpr double of_update = 1e-4;
    const double first = 1 - std::pow(b1, count), second = 1 - std::pow(b2, count);
    return mismatch("w", got[0].as<float>(), [&](std::size_t i) {
      const double below = first * (std::sqrt(new_v(i) / second) + real(s.epsilon));
      return bound{real(w[i]) * (1 - rate * real(s.weight_decay)) - rate * new_m(i, 1) / below,
                   4 * unit * std::abs(real(w[i])) + of_update * rate * new_m(i, -1) / below};
    });
  };
  // On the device, includes the copies that give w, m and v their first values; on the host, the work is the ceiling's,
  // a triad of as many parameters.
  c.work = {15.0 * static_cast<double>(n), (c.where == lab::part::host ? 12.0 : 52.0) * static_cast<double>(n)};
  return c;
}

// ---- predictions ----------------------------------------------------------------------------------------------------

constexpr int64_t gpt2_parameters = 124'439'808;  // of GPT-2 124M

/// Each parameter has a gradient and two moments, all of them floats.
test_case training_gigabytes() {
  return lab::figures_case(fmt::format("training_gigabytes/{}", gpt2_parameters),
                           [] { return std::vector{16e-9 * static_cast<double>(gpt2_parameters)}; });
}

/// w, m and v are read and written; g is read.
test_case adamw_milliseconds() {
  return lab::figures_case(fmt::format("adamw_milliseconds/{}", gpt2_parameters), [] {
    const sim::device_file device(LAB_DEVICES, "h200");
    return std::vector{1e3 * 28 * static_cast<double>(gpt2_parameters) / device.number("dram_bytes_per_second")};
  });
}

/// Before the first step all tokens of the vocabulary are about equally likely.
test_case first_loss() {
  return lab::figures_case("first_loss/512", [] { return std::vector{std::log(512.0)}; });
}

/// Twelve layers in memory for 100 residuals, where a layer's inner activations take 15: all thirteen residuals are
/// kept, and the inner activations of at least one layer, the one whose backward pass is running.
test_case layers_kept() {
  return lab::figures_case("layers_kept/12", [] {
    int kept = 12;
    while (kept > 0 && 13 + 15 * std::max(kept, 1) > 100) --kept;
    return std::vector<double>{static_cast<double>(kept)};
  });
}

/// given/profile.md, in ms.
test_case profile_read() {
  return lab::figures_case("profile/tf32", [] {
    constexpr double step = 31.3, forward = 9.6, backward = 20.0, update = 0.86, of_forward = 5.1, of_backward = 11.9;
    constexpr double attention = of_forward + of_backward;
    return std::vector<double>{100 * attention / step, step - 0.9 * attention, 100 * update / 2 / step,
                               (backward - of_backward) / (forward - of_forward)};
  });
}

// ---- all -----------------------------------------------------------------------------------------------------------

std::vector<test_case> cases() {
  std::vector<test_case> all;
  // 1, primes, sizes next to those of a vector, a warp and a block, and some that fill a device.
  for (const int64_t n : {1, 2, 3, 4, 5, 31, 33, 255, 257, 1023, 1025, 4099, 250'000, (1 << 20) + 3}) {
    all.push_back(gelu_backward(n));
    const int64_t step = n % 3 == 0 ? 1000 : n % 3;
    all.push_back(adamw("adamw", n, step, {}));
    if (n <= 4099) all.push_back(adamw("adamw_host", n, step, {}));
  }
  for (const char* entry : {"adamw", "adamw_host"}) {
    all.push_back(adamw(entry, 777, 1, {3e-4f, 0.9f, 0.95f, 1e-8f, 0.0f}));
    all.push_back(adamw(entry, 1001, 10, {6e-4f, 0.8f, 0.95f, 1e-5f, 0.3f}));
    all.push_back(adamw(entry, 35, 1500, {1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f}));
    all.push_back(adamw(entry, 333, 100'000, {1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f}));
  }
  for (const auto& [rows, channels] : {std::pair<int64_t, int64_t>{1, 4},
                                       {1, 1024},
                                       {2, 8},
                                       {3, 768},
                                       {5, 12},
                                       {7, 124},
                                       {8, 128},
                                       {9, 132},
                                       {31, 512},
                                       {33, 256},
                                       {65, 260},
                                       {129, 1020},
                                       {1000, 64},
                                       {3001, 4},
                                       {1001, 132},
                                       {4096, 768}})
    all.push_back(layer_norm_backward(rows, channels));
  all.push_back(layer_norm_backward(777, 384, true));
  for (const auto& [rows, vocabulary, pitch] : {std::array<int64_t, 3>{1, 1, 4},
                                                {9, 1, 8},
                                                {8, 2, 4},
                                                {25, 3, 4},
                                                {16, 4, 4},
                                                {24, 5, 8196},  // more padding than a block has threads
                                                {33, 31, 32},
                                                {40, 127, 128},
                                                {17, 129, 132},
                                                {24, 1000, 1024},
                                                {64, 512, 512},
                                                {11, 4099, 4160},
                                                {24, 50'257, 50'304},
                                                {2, 262'143, 262'144}})
    all.push_back(cross_entropy(rows, vocabulary, pitch, 1.0f / static_cast<float>(3 * rows + 1)));

  all.push_back(cross_entropy(10, 30, 32, -0.5f));

  for (test_case& c : lab14::step_cases()) all.push_back(std::move(c));
  for (const auto& figures : {training_gigabytes, adamw_milliseconds, first_loss, layers_kept, profile_read})
    all.push_back(figures());

  all.push_back(timed(adamw("adamw", gpt2_parameters, 10, {})));
  all.push_back(timed(adamw("adamw_host", 6'000'001, 10, {})));
  all.push_back(timed(layer_norm_backward(32 * 1024, 768)));
  all.push_back(timed(cross_entropy(4096, 50'257, 50'304, 1.0f / 4096)));
  return all;
}

/// Random sizes: no submission can prepare for them.
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes draw(seed);
  std::vector<test_case> all;
  const auto drawn_settings = [&] {
    const auto thousandths = [&](int64_t least, int64_t most) { return 1e-3f * static_cast<float>(draw(least, most)); };
    return settings{1e-2f * thousandths(1, 500), thousandths(500, 950), thousandths(900, 999),
                    1e-7f * thousandths(10, 1000), thousandths(1, 300)};
  };
  for (int i = 0; i < 2; ++i) {
    all.push_back(gelu_backward(draw(5, 20'000)));
    for (const char* entry : {"adamw", "adamw_host"})
      all.push_back(adamw(entry, draw(5, 20'000), i == 0 ? draw(2, 50) : draw(1001, 5000), drawn_settings()));
    all.push_back(layer_norm_backward(draw(2, 700), 4 * draw(1, 256)));
    const int64_t vocabulary = draw(2, 3000);
    all.push_back(cross_entropy(draw(9, 60), vocabulary, (vocabulary + 3) / 4 * 4 + 4 * draw(0, 40),
                                (i == 0 ? 1.0f : -1.0f) / static_cast<float>(draw(1, 5000))));
  }
  all.push_back(layer_norm_backward(draw(2, 700), 4 * draw(1, 256), true));
  // Cases whose counters are read, with rows of whole sectors; some are larger than any case above.
  const int64_t n = 8192 * draw(40, 140), vocabulary = draw(30'000, 60'000);
  all.push_back(lab::like("gelu_backward/1048579", gelu_backward(n)));
  all.push_back(lab::like("adamw/1048579-1", adamw("adamw", n, draw(2, 50), drawn_settings())));
  all.push_back(lab::like("layer_norm_backward/4096x768", layer_norm_backward(draw(4097, 4600), 8 * draw(75, 128))));
  all.push_back(lab::like("cross_entropy/24x50257-50304",
                          cross_entropy(draw(24, 32), vocabulary, (vocabulary + 63) / 64 * 64, 1.0f / 1000)));
  all.push_back(
      lab::like("adamw_host/6000001-10", timed(adamw("adamw_host", 6'000'001 + 4 * draw(1, 99'999), 10, {}))));
  // Larger than every size above. With more rows, a block of 256 threads per row runs into the limit of 20 s.
  all.push_back(layer_norm_backward(draw(16'500, 18'000), 4));
  all.push_back(cross_entropy(draw(16'500, 18'000), 3, 4, 1e-3f));
  const int64_t many = 4 * draw(35'000, 70'000);
  all.push_back(cross_entropy(2, many - draw(0, 3), many, 0));
  all.push_back(gelu_backward(draw(2'500'000, 3'500'000)));
  all.push_back(adamw("adamw", draw(2'500'000, 3'500'000), draw(2, 50), drawn_settings()));
  for (test_case& c : lab14::drawn_step_cases(seed)) all.push_back(std::move(c));
  return all;
}

const lab::case_registration registration{"14_training", cases, drawn_cases};

}  // namespace
