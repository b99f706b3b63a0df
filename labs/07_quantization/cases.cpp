// Lab 07's problems: random shapes, kernels and devices for the formulas, sizes for the products, what must come out,
// and how much work that is. The devices are those that common/sim/devices describes, and some that nobody sells.
#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <functional>
#include <lab/case.hpp>
#include <lab/compare.hpp>
#include <limits>
#include <utility>

#include "machine.hpp"
#include "schedule.hpp"

namespace {

using lab::bfloat16;
using lab::buffer;
using lab::dtype;
using lab::test_case;
using lab07::device;
using lab07::kernel;
using lab07::shape;
using std::int64_t;

std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

// ---- devices and kernels ------------------------------------------------------------------------------------------

constexpr const char* described[] = {"a100", "h100", "h200", "rtx3060", "rtx4090"};

/// A device as its description has it, for elements of 2 bytes on tensor cores, or of 4 without.
device described_device(const std::string& name, int element_bytes) {
  const std::string file = std::string(LAB_DEVICES "/") + name + ".toml";
  const toml::table t = toml::parse_file(file);
  const auto number = [&](const char* key) {
    const auto value = t[key].value<double>();
    if (!value) throw std::runtime_error(file + ": '" + key + "' is missing");
    return *value;
  };
  const auto whole = [&](const char* key) { return static_cast<int>(number(key)); };
  device on{};
  on.multiprocessors = whole("multiprocessors");
  on.threads_of_sm = whole("max_threads_per_sm");
  on.blocks_of_sm = whole("max_blocks_per_sm");
  on.registers_of_sm = whole("registers_per_sm");
  on.shared_bytes_of_sm = whole("shared_per_sm_bytes");
  on.register_unit = whole("register_allocation_unit");
  on.reserved_bytes = whole("shared_reserved_per_block_bytes");
  on.flops_per_second = number(element_bytes == 2 ? "bf16_tensor_flops_per_second" : "fp32_flops_per_second");
  on.l2_bytes_per_second = number("l2_bytes_per_second");
  on.launch_seconds = number("launch_seconds");
  return on;
}

device random_device(lab::random_sizes& draw) {
  device on{};
  on.multiprocessors = static_cast<int>(draw(1, 200));
  on.threads_of_sm = static_cast<int>(512 * draw(2, 6));
  on.blocks_of_sm = static_cast<int>(draw(4, 40));
  on.registers_of_sm = static_cast<int>(32768 * draw(1, 4));
  on.shared_bytes_of_sm = static_cast<int>(1024 * draw(48, 300));
  on.register_unit = static_cast<int>(64 << draw(0, 3));
  on.reserved_bytes = static_cast<int>(128 * draw(0, 16));
  on.flops_per_second = 1e12 * static_cast<double>(draw(1, 2000));
  on.l2_bytes_per_second = 1e11 * static_cast<double>(draw(5, 200));
  on.launch_seconds = 1e-7 * static_cast<double>(draw(5, 50));
  return on;
}

kernel random_kernel(lab::random_sizes& draw, int element_bytes) {
  constexpr int tiles[] = {32, 64, 96, 128, 160, 192, 256}, threads[] = {128, 256, 384, 512, 1024};
  kernel by{};
  by.tile_m = tiles[draw(0, 6)];
  by.tile_n = tiles[draw(0, 6)];
  by.threads = threads[draw(0, 4)];
  by.registers = static_cast<int>(draw(16, 255));
  by.shared_bytes = static_cast<int>(128 * draw(0, draw(0, 1) == 0 ? 100 : 1600));
  by.element_bytes = element_bytes;
  return by;
}

kernel fitting_kernel(lab::random_sizes& draw, int element_bytes, const device& on) {
  for (;;)
    if (const kernel by = random_kernel(draw, element_bytes); lab07::blocks_that_fit(by, on) > 0) return by;
}

// ---- the formulas -------------------------------------------------------------------------------------------------

/// One question: a line of numbers for the runner, see calls.cpp.
struct question {
  shape s;
  device on;
  std::vector<kernel> by;
};

constexpr int64_t device_numbers = 10, kernel_numbers = 6, shape_numbers = 3;

void append(std::vector<double>& out, const question& q) {
  const device& d = q.on;
  for (const int64_t side : {q.s.m, q.s.n, q.s.k}) out.push_back(static_cast<double>(side));
  for (const int number : {d.multiprocessors, d.threads_of_sm, d.blocks_of_sm, d.registers_of_sm, d.shared_bytes_of_sm,
                           d.register_unit, d.reserved_bytes})
    out.push_back(number);
  for (const double number : {d.flops_per_second, d.l2_bytes_per_second, d.launch_seconds}) out.push_back(number);
  for (const kernel& by : q.by)
    for (const int number : {by.tile_m, by.tile_n, by.threads, by.registers, by.shared_bytes, by.element_bytes})
      out.push_back(number);
}

/// The inverse of it.
question question_at(const double* in, int64_t kernels) {
  const auto whole = [&] { return static_cast<int>(*in++); };
  question q{};
  for (int64_t* side : {&q.s.m, &q.s.n, &q.s.k}) *side = static_cast<int64_t>(*in++);
  device& d = q.on;
  for (int* number : {&d.multiprocessors, &d.threads_of_sm, &d.blocks_of_sm, &d.registers_of_sm, &d.shared_bytes_of_sm,
                      &d.register_unit, &d.reserved_bytes})
    *number = whole();
  for (double* number : {&d.flops_per_second, &d.l2_bytes_per_second, &d.launch_seconds}) *number = *in++;
  q.by.resize(at(kernels));
  for (kernel& by : q.by)
    for (int* number : {&by.tile_m, &by.tile_n, &by.threads, &by.registers, &by.shared_bytes, &by.element_bytes})
      *number = whole();
  return q;
}

std::string described_by(const question& q) {
  const kernel& by = q.by[0];
  const device& on = q.on;
  std::string text = fmt::format("m {}, n {}, k {}", q.s.m, q.s.n, q.s.k);
  if (q.by.size() > 1)
    text += fmt::format(", {} kernels", q.by.size());
  else
    text += fmt::format(", tile {}x{}, {} threads, {} registers, {} shared bytes, {} bytes an element", by.tile_m,
                        by.tile_n, by.threads, by.registers, by.shared_bytes, by.element_bytes);
  return text +
         fmt::format(", {} multiprocessors of {} threads, {} blocks, {} registers in units of {}, {} shared bytes",
                     on.multiprocessors, on.threads_of_sm, on.blocks_of_sm, on.registers_of_sm, on.register_unit,
                     on.shared_bytes_of_sm);
}

double seconds_of(const question& q, const kernel& by) {
  const double blocks = static_cast<double>(lab07::blocks_that_fit(by, q.on)) * q.on.multiprocessors;
  if (blocks == 0) return std::numeric_limits<double>::infinity();
  const double k = static_cast<double>(q.s.k);
  const double computing = blocks * 2 * by.tile_m * by.tile_n * k / q.on.flops_per_second;
  const double fetching = blocks * (by.tile_m + by.tile_n) * k * by.element_bytes / q.on.l2_bytes_per_second;
  return q.on.launch_seconds + static_cast<double>(lab07::deal(q.s, by, q.on).waves) * std::max(computing, fetching);
}

int64_t cliff_behind(const question& q) {
  const auto waves = [&](int64_t n) { return lab07::deal({n, n, 1}, q.by[0], q.on).waves; };
  const int64_t now = waves(q.s.n);
  int64_t n = q.s.n + 1;
  while (waves(n) <= now) ++n;
  return n;
}

/// "" where `got` answers the question.
std::string judged(const std::string& entry, const question& q, double got) {
  if (entry == "best_kernel") {
    double least = std::numeric_limits<double>::infinity();
    for (const kernel& by : q.by) least = std::min(least, seconds_of(q, by));
    if (std::isinf(least)) return got == -1 ? "" : fmt::format("says {}, but none of them fits: -1", got);
    const auto count = static_cast<double>(q.by.size());
    if (!(got >= 0 && got < count && got == std::floor(got)))
      return fmt::format("says {}, which is no index of {} kernels", got, count);
    const double chosen = seconds_of(q, q.by[static_cast<std::size_t>(got)]);
    if (chosen <= least * (1 + 1e-9)) return "";
    return std::isinf(chosen) ? fmt::format("says {}, which does not fit", got)
                              : fmt::format("says {}, which takes {:.4g} s; {:.4g} s is possible", got, chosen, least);
  }
  const kernel& by = q.by[0];
  double want = 0, tolerance = 0;
  if (entry == "tiles") want = static_cast<double>(lab07::deal(q.s, by, q.on).tiles);
  if (entry == "occupancy") want = lab07::blocks_that_fit(by, q.on);
  if (entry == "waves") want = static_cast<double>(lab07::deal(q.s, by, q.on).waves);
  if (entry == "next_cliff") want = static_cast<double>(cliff_behind(q));
  if (entry == "seconds") want = seconds_of(q, by), tolerance = 1e-9;
  if (entry == "utilization") {
    want = static_cast<double>(q.s.m * q.s.n) / static_cast<double>(lab07::deal(q.s, by, q.on).multiply_adds);
    tolerance = 1e-9;
  }
  if (std::abs(got - want) <= tolerance * want) return "";  // NaN is no answer
  return fmt::format("says {:.10g}, must be {:.10g}", got, want);
}

/// Where the number of tiles is too large for dealing them out, the quotient decides; exact in 128 bits.
std::string judged_huge(const std::string& entry, const question& q, double got) {
  __extension__ using wide = __int128;
  const auto up = [](wide a, wide b) { return (a + b - 1) / b; };
  const kernel& by = q.by[0];
  wide want = up(q.s.m, by.tile_m) * up(q.s.n, by.tile_n);
  if (entry == "waves") want = up(want, wide{q.on.multiprocessors} * lab07::blocks_that_fit(by, q.on));
  if (got == static_cast<double>(want)) return "";
  return fmt::format("says {:.17g}, must be {:.17g}", got, static_cast<double>(want));
}

std::vector<question> questions(const std::string& entry, const std::string& about, int count, std::uint64_t seed) {
  lab::random_sizes draw(seed);
  std::vector<question> all;
  while (std::ssize(all) < count) {
    const int element_bytes = draw(0, 1) == 0 ? 2 : 4;
    question q;
    const bool known = std::find(std::begin(described), std::end(described), about) != std::end(described);
    q.on = known             ? described_device(about, element_bytes)
           : about == "huge" ? described_device(described[draw(0, 4)], element_bytes)
                             : random_device(draw);
    const bool any = entry == "occupancy" || entry == "best_kernel";
    if (!any && lab07::blocks_that_fit({32, 32, 128, 16, 0, 2}, q.on) == 0) continue;
    for (int i = 0; i < (entry == "best_kernel" ? 8 : 1); ++i)
      q.by.push_back(any ? random_kernel(draw, element_bytes) : fitting_kernel(draw, element_bytes, q.on));
    const kernel& by = q.by[0];
    const auto side = [&](int tile) {  // of any size, or about a multiple of the tile
      if (about == "huge") return draw(1'000'000'000, 3'000'000'000);
      if (entry == "next_cliff") return draw(1, 1500);
      return draw(0, 1) == 0 ? draw(1, 5000) : std::max<int64_t>(1, tile * draw(1, 24) + draw(-1, 1));
    };
    q.s = {side(by.tile_m), side(by.tile_n), draw(1, 8192)};
    all.push_back(std::move(q));
  }
  return all;
}

test_case formula(const std::string& entry, const std::string& about) {
  const int count = entry == "next_cliff" ? 16 : 64;
  test_case result;
  result.id = entry + "/" + about;
  result.entry = entry;
  result.where = lab::part::host;
  const int64_t kernels = entry == "best_kernel" ? 8 : 1;
  const int64_t width = shape_numbers + device_numbers + kernel_numbers * kernels;
  result.parameters = {count, width, kernels};
  result.outputs = {{dtype::f64, count}};
  result.inputs = [=](std::uint64_t seed) {
    std::vector<double> numbers;
    for (const question& q : questions(entry, about, count, seed)) append(numbers, q);
    return std::vector{buffer::of(numbers)};
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto numbers = before[0].as<double>(), got = outputs[0].as<double>();
    int wrong = 0;
    std::string first;
    for (int64_t i = 0; i < count; ++i) {
      const question q = question_at(&numbers[at(i * width)], kernels);
      const std::string why = about == "huge" ? judged_huge(entry, q, got[at(i)]) : judged(entry, q, got[at(i)]);
      if (!why.empty() && wrong++ == 0) first = why + " (" + described_by(q) + ")";
    }
    return wrong == 0 ? "" : fmt::format("{} of {} answers wrong; the first {}", wrong, count, first);
  };
  return result;
}

/// The figures that are predicted: `entry` for square products of sizes `sizes` on a described device, by a kernel of
/// one block a multiprocessor.
test_case figures(const std::string& entry, const std::string& about, int tile_m, int tile_n,
                  const std::vector<int64_t>& sizes) {
  test_case result;
  result.id = fmt::format("{}/{}-{}x{}", entry, about, tile_m, tile_n);
  result.entry = entry;
  result.where = lab::part::host;
  const auto count = std::ssize(sizes);
  result.parameters = {count, shape_numbers + device_numbers + kernel_numbers, 1};
  result.outputs = {{dtype::f64, count}};
  result.inputs = [=](std::uint64_t) {
    const device on = described_device(about, 2);
    std::vector<double> numbers;
    for (const int64_t n : sizes)
      append(numbers, {{n, n, n}, on, {{tile_m, tile_n, 256, 128, on.shared_bytes_of_sm - on.reserved_bytes, 2}}});
    return std::vector{buffer::of(numbers)};
  };
  result.check = [](std::span<const buffer>, std::span<const buffer>) { return std::string{}; };  // given code
  return result;
}

// ---- padding ------------------------------------------------------------------------------------------------------

std::vector<bfloat16> random_bf16(int64_t count, std::uint64_t seed) {
  const std::vector<float> values = lab::random_floats(at(count), seed);
  std::vector<bfloat16> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), lab::to_bfloat16);
  return result;
}

std::vector<float> floats_of(std::span<const bfloat16> values) { return {values.begin(), values.end()}; }

test_case pad(int64_t rows, int64_t columns, int64_t padded_rows, int64_t padded_columns) {
  test_case result;
  result.id = fmt::format("pad/{}x{}-{}x{}", rows, columns, padded_rows, padded_columns);
  result.entry = "pad";
  result.parameters = {rows, columns, padded_rows, padded_columns};
  result.outputs = {{dtype::bf16, padded_rows * padded_columns}};
  result.inputs = [=](std::uint64_t seed) { return std::vector{buffer::of(random_bf16(rows * columns, seed))}; };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto in = before[0].as<bfloat16>();
    std::vector<float> want(at(padded_rows * padded_columns));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) want[at(r * padded_columns + c)] = in[at(r * columns + c)];
    return lab::mismatch(floats_of(outputs[0].as<bfloat16>()), want, {}, at(padded_columns));
  };
  result.work.bytes = 2.0 * static_cast<double>(rows * columns + padded_rows * padded_columns);
  return result;
}

test_case unpad(int64_t rows, int64_t columns, int64_t padded_columns) {
  test_case result;
  result.id = fmt::format("unpad/{}x{}-{}", rows, columns, padded_columns);
  result.entry = "unpad";
  result.parameters = {rows, columns, padded_columns};
  result.outputs = {{dtype::bf16, rows * columns}};
  result.inputs = [=](std::uint64_t seed) { return std::vector{buffer::of(random_bf16(rows * padded_columns, seed))}; };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto in = before[0].as<bfloat16>();
    std::vector<float> want(at(rows * columns));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) want[at(r * columns + c)] = in[at(r * padded_columns + c)];
    return lab::mismatch(floats_of(outputs[0].as<bfloat16>()), want, {}, at(columns));
  };
  result.work.bytes = 4.0 * static_cast<double>(rows * columns);
  return result;
}

// ---- products -----------------------------------------------------------------------------------------------------

/// Sums of k products in FP32, as in lab 06; the result is then rounded to `digits` bits.
lab::tolerance allowed(int64_t k, int digits) {
  return {4 * static_cast<double>(k) * 0x1p-24, std::ldexp(1.0, -digits)};
}

/// Rows [first, last) of A B.
std::vector<double> rows_of_product(std::span<const float> a, std::span<const float> b, int64_t n, int64_t k,
                                    int64_t first, int64_t last) {
  std::vector<double> c(at((last - first) * n));
  for (int64_t r = first; r < last; ++r)
    for (int64_t i = 0; i < k; ++i) {
      const double factor = a[at(r * k + i)];
      for (int64_t q = 0; q < n; ++q) c[at((r - first) * n + q)] += factor * static_cast<double>(b[at(i * n + q)]);
    }
  return c;
}

std::string wrong_rows(std::span<const float> a, std::span<const float> b, std::span<const float> c, int64_t n,
                       int64_t k, int64_t first, int64_t last, int digits) {
  const std::vector<double> got(c.begin() + first * n, c.begin() + last * n);
  return lab::mismatch(std::span<const double>(got), rows_of_product(a, b, n, k, first, last), allowed(k, digits),
                       at(n));
}

/// Large products: some rows in full, and for the others C x must be A (B x) for a vector x of random signs
/// (Freivalds). An element of C has been rounded by up to 2^-9 of about sqrt(k) / 3; n of them, with random signs, add
/// up to sqrt(n) times that; 8 times as much is allowed.
std::string freivalds(std::span<const float> a, std::span<const float> b, std::span<const float> c, const shape& s) {
  for (const int64_t r : {int64_t{0}, s.m / 3, s.m - 1})
    if (const std::string wrong = wrong_rows(a, b, c, s.n, s.k, r, r + 1, 8); !wrong.empty())
      return fmt::format("row {}: {}", r, wrong);
  const std::vector<float> random = lab::random_floats(at(s.n), 7 + at(s.m));
  std::vector<double> x(at(s.n)), bx(at(s.k)), want(at(s.m)), got(at(s.m));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = random[i] < 0 ? -1.0 : 1.0;
  const auto times = [](std::span<const float> matrix, const std::vector<double>& v, std::vector<double>& out) {
    for (std::size_t r = 0; r < out.size(); ++r)
      for (std::size_t i = 0; i < v.size(); ++i) out[r] += static_cast<double>(matrix[r * v.size() + i]) * v[i];
  };
  times(b, x, bx);
  times(a, bx, want);
  times(c, x, got);
  const double margin = 8 * std::sqrt(static_cast<double>(s.n) * static_cast<double>(s.k)) / 3 * 0x1p-9;
  const std::string wrong = lab::mismatch(std::span<const double>(got), want, {margin, 0.0});
  return wrong.empty() ? wrong : "sums along rows of C, with random signs: " + wrong;
}

lab::work work_of(const shape& s, double element_bytes) {
  const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
  return {2 * m * n * k, element_bytes * (m * k + k * n + m * n)};
}

std::string sizes(const shape& s) { return fmt::format("{}x{}x{}", s.m, s.n, s.k); }

test_case padded_gemm(const shape& s) {
  test_case result;
  result.id = "padded_gemm/" + sizes(s);
  result.entry = "padded_gemm";
  result.parameters = {s.m, s.n, s.k};
  result.outputs = {{dtype::bf16, s.m * s.n}, {dtype::u8, 2 * lab07::workspace_elements(s.m, s.n, s.k)}};
  result.inputs = [s](std::uint64_t seed) {
    return std::vector{buffer::of(random_bf16(s.m * s.k, seed)), buffer::of(random_bf16(s.k * s.n, seed + 1))};
  };
  result.check = [s](std::span<const buffer> before, std::span<const buffer> outputs) {
    const std::vector<float> a = floats_of(before[0].as<bfloat16>()), b = floats_of(before[1].as<bfloat16>()),
                             c = floats_of(outputs[0].as<bfloat16>());
    constexpr int64_t large = int64_t{1} << 25;
    return s.m * s.n * s.k > large ? freivalds(a, b, c, s) : wrong_rows(a, b, c, s.n, s.k, 0, s.m, 8);
  };
  result.work = work_of(s, 2);
  return result;
}

test_case narrow_gemm(const shape& s) {
  test_case result;
  result.id = "narrow_gemm/" + sizes(s);
  result.entry = "narrow_gemm";
  result.where = lab::part::host;
  result.parameters = {s.m, s.n, s.k};
  result.outputs = {{dtype::f32, s.m * s.n}};
  result.inputs = [s](std::uint64_t seed) {
    return std::vector{buffer::of(lab::random_floats(at(s.m * s.k), seed)),
                       buffer::of(lab::random_floats(at(s.k * s.n), seed + 1))};
  };
  result.check = [s](std::span<const buffer> before, std::span<const buffer> outputs) {
    return wrong_rows(before[0].as<float>(), before[1].as<float>(), outputs[0].as<float>(), s.n, s.k, 0, s.m, 60);
  };
  result.work = work_of(s, 4);
  return result;
}

/// Products of n x k by k x n for each of `all_n`, one launch each.
test_case fixed_tile_gemm(const std::string& name, int64_t k, const std::vector<int64_t>& all_n) {
  const int64_t most = *std::max_element(all_n.begin(), all_n.end());
  int64_t results = 0;
  for (const int64_t n : all_n) results += n * n;
  test_case result;
  result.id = "fixed_tile_gemm/" + name;
  result.entry = "fixed_tile_gemm";
  result.parameters = {k};
  result.parameters.insert(result.parameters.end(), all_n.begin(), all_n.end());
  result.outputs = {{dtype::f32, results}};
  result.inputs = [=](std::uint64_t seed) {
    return std::vector{buffer::of(lab::random_floats(at(most * k), seed)),
                       buffer::of(lab::random_floats(at(k * most), seed + 1))};
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    auto c = outputs[0].as<float>();
    std::string wrong;
    for (const int64_t n : all_n) {
      if (wrong.empty()) wrong = wrong_rows(before[0].as<float>(), before[1].as<float>(), c, n, k, 0, n, 60);
      c = c.subspan(at(n * n));
    }
    return wrong;
  };
  for (const int64_t n : all_n) {
    const lab::work one = work_of({n, n, k}, 4);
    result.work = {result.work.flops + one.flops, result.work.bytes + one.bytes};
  }
  return result;
}

// ---- all ----------------------------------------------------------------------------------------------------------

test_case timed(test_case base) {
  base.timed = true;
  return base;
}

constexpr const char* formulas[] = {"tiles",   "occupancy",  "waves",      "utilization",
                                    "seconds", "next_cliff", "best_kernel"};

std::vector<test_case> cases() {
  std::vector<test_case> all;
  for (const char* entry : formulas) {
    for (const char* name : described) all.push_back(formula(entry, name));
    all.push_back(formula(entry, "random"));
  }
  all.push_back(formula("tiles", "huge"));
  all.push_back(formula("waves", "huge"));
  all.push_back(figures("dealt_tiles", "a100", 256, 128, {3072, 3073}));
  all.push_back(figures("dealt_waves", "a100", 256, 128, {3073}));
  all.push_back(figures("dealt_waves", "h200", 256, 128, {3073}));
  all.push_back(figures("dealt_cliff", "h200", 256, 128, {1793}));
  all.push_back(figures("dealt_cliff", "h200", 128, 128, {1}));
  all.push_back(figures("dealt_cliff", "rtx3060", 128, 128, {1}));
  all.push_back(figures("dealt_utilization", "h200", 256, 128, {2049}));

  // One element, one row, sides that no vector divides, more rows than a grid has in y.
  const int64_t pads[][4] = {{1, 1, 1, 1},       {1, 1, 8, 8},         {3, 5, 4, 7},          {5, 8, 8, 8},
                             {7, 7, 7, 8},       {33, 65, 40, 72},     {64, 64, 64, 64},      {1, 2049, 8, 2056},
                             {257, 31, 264, 63}, {509, 511, 512, 512}, {66'000, 3, 66'000, 8}};
  for (const auto& [rows, columns, padded_rows, padded_columns] : pads) {
    all.push_back(pad(rows, columns, padded_rows, padded_columns));
    all.push_back(unpad(rows, columns, padded_columns));
  }
  const shape shapes[] = {{1, 1, 1},     {1, 37, 5},   {37, 1, 3},         {5, 7, 1},         {8, 8, 8},
                          {64, 64, 64},  {65, 63, 17}, {128, 136, 40},     {129, 127, 31},    {8, 8, 7},
                          {16, 9, 8},    {9, 16, 8},   {33, 512, 100},     {255, 257, 259},   {257, 8, 1000},
                          {2, 4096, 63}, {320, 64, 7}, {1021, 1023, 1017}, {1024, 1024, 1024}};
  for (const shape& s : shapes) all.push_back(padded_gemm(s));
  all.push_back(timed(padded_gemm({8191, 8191, 8191})));

  for (const int64_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 49, 63, 64})
    all.push_back(narrow_gemm({n % 2 == 0 ? 12 : 37, n, 2 * n + 1}));
  for (const shape& s : {shape{1, 17, 1}, {1, 64, 300}, {5, 17, 1000}, {1031, 17, 3}}) all.push_back(narrow_gemm(s));
  for (const int64_t n : {8, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64}) all.push_back(narrow_gemm({384, n, 500}));
  all.push_back(timed(narrow_gemm({4096, 31, 500})));

  all.push_back(fixed_tile_gemm("177", 40, {177}));
  // The busiest of the H200's 132 multiprocessors has one block, two from 177 on, three from 257, four from 305. By
  // waves() all are one wave: eight such blocks fit on a multiprocessor.
  all.push_back(fixed_tile_gemm("sweep", 16, {161, 176, 177, 256, 257, 304, 305}));
  return all;
}

/// Sizes that no one could have prepared for.
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes size(seed);
  std::vector<test_case> all;
  for (const char* entry : formulas) all.push_back(formula(entry, fmt::format("drawn{}", size(0, 999'999))));
  const int64_t rows = size(2, 300), columns = size(2, 300);
  all.push_back(pad(rows, columns, rows + size(0, 9), columns + size(0, 9)));
  all.push_back(unpad(rows, columns, columns + size(0, 9)));
  for (int i = 0; i < 2; ++i) all.push_back(padded_gemm({size(2, 300), size(2, 300), size(2, 300)}));
  all.push_back(narrow_gemm({size(2, 100), size(2, 64), size(2, 300)}));
  return all;
}

const lab::case_registration registration{"07_quantization", cases, drawn_cases};

}  // namespace
