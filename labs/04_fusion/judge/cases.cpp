// Lab 04's problems: sizes, seeded inputs, expected results, and how much work they take.
#include <lab/case.hpp>
#include <lab/compare.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace {

using lab::buffer;
using lab::buffer_spec;
using lab::dtype;
using lab::test_case;
using std::int64_t;

using floats = std::vector<float>;

std::string by(int64_t rows, int64_t columns) { return std::to_string(rows) + "x" + std::to_string(columns); }

// ---- expected results, in double ---------------------------------------------------------------------------------

/// The same as the tanh form, with one exponential: (1 + tanh u) / 2 = 1 / (1 + exp(-2 u)).
double gelu(double x) { return x / (1.0 + std::exp(-2.0 * 0.79788456 * (x + 0.044715 * x * x * x))); }

/// 1 + tanh(u) is rounded near 1 and then multiplied by x / 2. For |x| <= 10, where it is not yet 0 or 2, the error is
/// up to 10 / 2 * 2^-23, or a little more with a tanh accurate to 2 units in the last place.
constexpr lab::tolerance gelu_tolerance{2e-6, 2e-6};

/// Two roundings for each of two numbers up to 1, plus those of their sum.
constexpr lab::tolerance sine_tolerance{4e-7, 0.0};

/// The mean, up to 200 in magnitude, is rounded to 8e-6, and its sum adds a few such errors; the deviation exceeds 1.
/// Rows that hardly vary lie around 0 and lose nothing. An element far from the others becomes at most the square root
/// of their number, 128, and is off by a few units in the last place of that.
constexpr lab::tolerance layernorm_tolerance{2e-4, 2e-6};

/// Inputs are up to 110 in magnitude, so exp2f(x * log2(e) - ...) is off by up to 1e-5; other errors are smaller. Only
/// a masked element comes near 1e-20.
constexpr lab::tolerance softmax_tolerance{1e-20, 2e-5};

floats layernorm(std::span<const float> in, std::size_t columns) {
  floats out(in.size());
  const auto of_row = [&](std::size_t r) {
    const std::size_t start = r * columns;
    const auto row = in.subspan(start, columns);
    double sum = 0, squares = 0;
    for (const float x : row) sum += static_cast<double>(x);
    const double mean = sum / static_cast<double>(columns);
    for (const float x : row) squares += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean);
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(columns) + 1e-5);
    for (std::size_t c = 0; c < columns; ++c)
      out[start + c] = static_cast<float>((static_cast<double>(row[c]) - mean) * scale);
  };
  lab::for_each_index(in.size() / columns, of_row, columns);
  return out;
}

floats softmax(std::span<const float> in, std::size_t columns) {
  floats out(in.size());
  const auto of_row = [&](std::size_t r) {
    const std::size_t start = r * columns;
    const auto row = in.subspan(start, columns);
    std::vector<double> powers(columns);
    const float maximum = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (std::size_t c = 0; c < columns; ++c)
      sum += powers[c] = std::exp(static_cast<double>(row[c]) - static_cast<double>(maximum));
    for (std::size_t c = 0; c < columns; ++c) out[start + c] = static_cast<float>(powers[c] / sum);
  };
  lab::for_each_index(in.size() / columns, of_row, columns);
  return out;
}

// ---- inputs --------------------------------------------------------------------------------------------------------

/// Mostly in [-6, 6), where GELU curves; some up to 120, where a careless exp overflows.
floats activations(int64_t n, std::uint64_t seed) {
  return lab::long_tailed_floats(static_cast<std::size_t>(n), 6.0f, 120.0f, seed);
}

/// The same, with a few far larger: if `factor` is 1e28, x^3 is infinite in float; if it is 2.8e36, so is 2 x.
floats any_finite(int64_t n, std::uint64_t seed, float factor) {
  floats x = activations(n, seed);
  lab::for_each_index(x.size(), [&](std::size_t i) {
    if (std::abs(x[i]) > 119.0f) x[i] *= factor;
  });
  return x;
}

/// Rows that vary by `spread` around their own level between -`level` and `level`. One in four has an element far from
/// all others: the first, the middle or the last. This exposes subtractions of large numbers, or their exp. `change`
/// replaces one row in four, chosen by the seed.
floats rows_around(int64_t rows, int64_t columns, float spread, float level, float far, std::uint64_t seed,
                   float (*change)(float value, int64_t c, int64_t columns)) {
  floats x = lab::random_floats(static_cast<std::size_t>(rows * columns), seed);
  for (int64_t r = 0; r < rows; ++r) {
    const auto kind = (static_cast<std::uint64_t>(r) + seed) % 4;
    const float own = level * (kind == 0 ? 1.0f : std::sin(static_cast<float>(r)));
    const int64_t place =
        std::array{int64_t{0}, columns / 2, columns - 1}[(static_cast<std::uint64_t>(r) / 4 + seed) % 3];
    for (int64_t c = 0; c < columns; ++c) {
      float& value = x[static_cast<std::size_t>(r * columns + c)];
      value = kind == 1 ? change(value, c, columns) : spread * value + own + (kind == 2 && c == place ? far : 0.0f);
    }
  }
  return x;
}

/// A row whose variance is smaller than the epsilon added to it.
float nearly_constant(float value, int64_t, int64_t) { return 0.003f * value; }

/// A row far below zero, its first elements masked as in attention.
float masked(float value, int64_t c, int64_t columns) { return 3 * c < columns - 1 ? -1e30f : 8.0f * value - 100.0f; }

// ---- cases ---------------------------------------------------------------------------------------------------------

/// A case whose first output must be want(first input); the others are scratch.
test_case problem(std::string entry, std::string sizes, std::vector<int64_t> parameters, std::vector<int64_t> outputs,
                  std::function<floats(std::uint64_t seed)> input, std::function<floats(std::span<const float>)> want,
                  lab::tolerance allowed, std::size_t row_length = 0) {
  test_case result;
  result.id = entry + "/" + sizes;
  result.entry = std::move(entry);
  result.parameters = std::move(parameters);
  for (const int64_t size : outputs) result.outputs.push_back({dtype::f32, size});
  result.inputs = [input = std::move(input)](std::uint64_t seed) { return lab::buffers(input(seed)); };
  result.check = [=, want = std::move(want)](std::span<const buffer> before, std::span<const buffer> got) {
    return lab::mismatch(got[0].as<float>(), want(before[0].as<float>()), allowed, row_length);
  };
  result.work.bytes = 8.0 * static_cast<double>(outputs[0]);
  return result;
}

test_case gelu_of(const std::string& entry, int64_t n) {
  test_case result = problem(
      entry, std::to_string(n), {n}, {n},
      [n, factor = entry == "gelu" ? 2.8e36f : 1e28f](std::uint64_t seed) { return any_finite(n, seed, factor); },
      [](std::span<const float> in) {
        floats out(in.size());
        lab::for_each_index(in.size(),
                            [&](std::size_t i) { out[i] = static_cast<float>(gelu(static_cast<double>(in[i]))); });
        return out;
      },
      gelu_tolerance);
  result.work.flops = 9.0 * static_cast<double>(n);
  if (entry == "gelu_host") result.where = lab::part::host;
  return result;
}

test_case sine(const std::string& entry, int64_t n) {
  std::vector<int64_t> outputs{n};
  if (entry == "sin2_plus_cos2_unfused") outputs.push_back(n);
  test_case result = problem(
      entry, std::to_string(n), {n}, outputs, [n](std::uint64_t seed) { return activations(n, seed); },
      [](std::span<const float> in) { return floats(in.size(), 1.0f); }, sine_tolerance);
  result.work.flops = 5.0 * static_cast<double>(n);
  return result;
}

test_case bias_gelu_residual(int64_t rows, int64_t columns) {
  const int64_t n = rows * columns;
  test_case result = problem("bias_gelu_residual", by(rows, columns), {rows, columns}, {n}, nullptr, nullptr, {});
  result.inputs = [n, columns](std::uint64_t seed) {
    const floats bias = lab::random_floats(static_cast<std::size_t>(columns), seed + 1);
    const floats residual = lab::random_floats(static_cast<std::size_t>(n), seed + 2);
    return lab::buffers(activations(n, seed), bias, residual);
  };
  result.check = [columns](std::span<const buffer> before, std::span<const buffer> got) {
    const auto in = before[0].as<float>(), bias = before[1].as<float>(), residual = before[2].as<float>();
    floats want(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float x = in[i] + bias[i % static_cast<std::size_t>(columns)];  // rounded to float
      want[i] = static_cast<float>(static_cast<double>(residual[i]) + gelu(static_cast<double>(x)));
    }
    return lab::mismatch(got[0].as<float>(), want, gelu_tolerance, static_cast<std::size_t>(columns));
  };
  result.work.bytes = 4.0 * static_cast<double>(3 * n + columns);
  result.work.flops = 11.0 * static_cast<double>(n);
  return result;
}

test_case rows_of(const std::string& entry, int64_t rows, int64_t columns) {
  const bool normal = entry.starts_with("layernorm");
  const int64_t n = rows * columns;
  std::vector<int64_t> outputs{n};
  if (entry.ends_with("_unfused")) outputs.insert(outputs.end(), {rows, rows});
  test_case result = problem(
      entry, by(rows, columns), {rows, columns}, outputs,
      [=](std::uint64_t seed) {
        if (normal) return rows_around(rows, columns, 3.0f, 200.0f, 300.0f, seed, nearly_constant);
        floats x = rows_around(rows, columns, 8.0f, 100.0f, 0.0f, seed, masked);
        lab::random_sizes draw(seed + 1);
        for (int64_t r = 0; r < rows; ++r) {
          float* const row = &x[static_cast<std::size_t>(r * columns)];
          const int64_t kind = draw(0, 2);
          if (kind == 1) {
            // Two elements are so far above the others that only the true maximum keeps exp() finite; one of them is
            // slightly higher, so capping exp() fails.
            const int64_t far = draw(0, columns - 1), apart = draw(1, std::max<int64_t>(columns - 1, 1));
            const float highest = row[far] += static_cast<float>(draw(300, 600));
            if (columns > 1) row[(far + apart) % columns] = highest - static_cast<float>(draw(2, 20)) / 8;
          } else if (kind == 2) {
            // Far below any plausible initial value of a maximum, like a fully masked row, or as far above 0. Some
            // times log2(e) are infinite.
            const float sign = draw(0, 1) == 0 ? -1.0f : 1.0f;
            const auto exponent = static_cast<int>(draw(0, 3) == 0 ? 125 : draw(16, 124));
            std::fill_n(row, columns, sign * std::ldexp(static_cast<float>(draw(5, 7)), exponent));
          }
        }
        return x;
      },
      [=](std::span<const float> in) {
        return normal ? layernorm(in, static_cast<std::size_t>(columns))
                      : softmax(in, static_cast<std::size_t>(columns));
      },
      normal ? layernorm_tolerance : softmax_tolerance, static_cast<std::size_t>(columns));
  result.work.flops = 5.0 * static_cast<double>(n);
  return result;
}

void add_length(std::vector<test_case>& all, int64_t n) {
  for (const char* entry : {"gelu", "gelu_host"}) all.push_back(gelu_of(entry, n));
  all.push_back(sine("sin2_plus_cos2", n));
}

void add_shape(std::vector<test_case>& all, int64_t rows, int64_t columns) {
  all.push_back(bias_gelu_residual(rows, columns));
  for (const char* entry : {"layernorm", "softmax"}) all.push_back(rows_of(entry, rows, columns));
}

std::vector<test_case> cases() {
  std::vector<test_case> all;
  // 1, primes, one below and one above each multiple of a vector, a warp and a block; one that fills a device.
  for (const int64_t n : {1, 2, 3, 4, 5, 31, 33, 127, 128, 129, 1023, 1025, 4099, 250'000, 1 << 20}) add_length(all, n);
  const std::pair<int64_t, int64_t> shapes[] = {{1, 1},    {1, 37},   {37, 1},   {5, 31},     {5, 32},     {3, 33},
                                                {67, 65},  {3, 1023}, {3, 1024}, {3, 1025},   {2, 2047},   {131, 4},
                                                {2, 4096}, {1, 4097}, {2, 8192}, {1, 16'381}, {1, 16'384}, {250, 1000}};
  for (const auto& [rows, columns] : shapes) add_shape(all, rows, columns);
  all.push_back(bias_gelu_residual(4096, 1024));
  all.push_back(bias_gelu_residual(66'000, 1));
  all.push_back(bias_gelu_residual(2049, 65));
  all.push_back(bias_gelu_residual(4, 131'072));  // more rows than a grid has in y
  for (const char* entry : {"layernorm", "softmax"}) all.push_back(rows_of(entry, 2048, 1024));
  for (const int64_t n : {33, 250'000}) {
    all.push_back(gelu_of("gelu_unfused", n));
    all.push_back(sine("sin2_plus_cos2_unfused", n));
  }
  for (const char* entry : {"layernorm_unfused", "softmax_unfused"}) {
    all.push_back(rows_of(entry, 5, 33));
    all.push_back(rows_of(entry, 250, 1000));
  }
  all.push_back(timed(gelu_of("gelu", 1 << 28)));
  all.push_back(timed(gelu_of("gelu_unfused", 1 << 28)));  // shows the gain from fusion
  all.push_back(timed(gelu_of("gelu_host", 1 << 24)));
  all.push_back(timed(rows_of("layernorm", 1 << 16, 4096)));
  all.push_back(timed(rows_of("softmax", 1 << 15, 8192)));
  return all;
}

/// Random sizes: no submission can prepare for them.
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes size(seed);
  std::vector<test_case> all;
  for (int i = 0; i < 2; ++i) {
    add_length(all, size(5, 20'000));
    const int64_t rows = size(2, 40);
    add_shape(all, rows, size(16, 3'000));
  }
  // Larger than any case above, or as large as allowed.
  const int64_t longest = (1 << 20) + size(1, 9999), rows = 64 * size(4, 10), columns = 64 * size(8, 14);
  add_length(all, longest);
  all.push_back(bias_gelu_residual(size(66'001, 80'000), 2));
  all.push_back(bias_gelu_residual(2, size(16'385, 40'000)));
  for (const std::string entry : {"layernorm", "softmax"}) {
    all.push_back(rows_of(entry, size(2049, 2300), 33));
    all.push_back(rows_of(entry, 2, size(16'300, 16'384)));
    all.push_back(like(entry + "/2048x1024", rows_of(entry, rows, columns)));
  }
  const int64_t n = 8192 * size(40, 100);
  all.push_back(like("gelu/1048576", gelu_of("gelu", n)));
  all.push_back(like("sin2_plus_cos2/1048576", sine("sin2_plus_cos2", n)));
  all.push_back(like("bias_gelu_residual/4096x1024", bias_gelu_residual(rows, columns)));
  // Timed in official grading.
  all.push_back(like("gelu_host/16777216", timed(gelu_of("gelu_host", (1 << 24) + size(1, 99'999)))));
  return all;
}

const lab::case_registration registration{"04_fusion", cases, drawn_cases};

}  // namespace
