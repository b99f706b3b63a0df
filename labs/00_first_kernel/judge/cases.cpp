// Lab 00's problems: sizes, seeded inputs, expected results, and how much work they take.
#include <lab/case.hpp>
#include <lab/compare.hpp>

#include <cmath>
#include <utility>

namespace {

using lab::buffer;
using lab::test_case;
using std::int64_t;

using floats = std::span<const float>;
constexpr int64_t row = 256;  // floats in a row of add_neighbours and row_sums

/// A case in which element i of `outputs` must be want(inputs, i).
template <class Want>
test_case elementwise(std::string entry, std::string sizes, std::vector<int64_t> parameters,
                      std::vector<int64_t> input_sizes, int64_t outputs, Want want, int64_t row_length = 0) {
  test_case c;
  c.id = entry + "/" + sizes;
  c.entry = std::move(entry);
  c.parameters = std::move(parameters);
  c.outputs = {{lab::dtype::f32, outputs}};
  double elements = static_cast<double>(outputs);
  for (const int64_t size : input_sizes) elements += static_cast<double>(size);
  c.work.bytes = 4.0 * elements;
  c.inputs = [input_sizes](std::uint64_t seed) {
    std::vector<buffer> inputs;
    for (const int64_t size : input_sizes)
      inputs.push_back(buffer::of(lab::random_floats(static_cast<std::size_t>(size), seed + inputs.size())));
    return inputs;
  };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> got) {
    std::vector<floats> in;
    for (const buffer& b : before) in.push_back(b.as<float>());
    std::vector<float> wanted(static_cast<std::size_t>(outputs));
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = want(in, i);
    return lab::mismatch(got[0].as<float>(), wanted, {}, static_cast<std::size_t>(row_length));  // one rounding
  };
  return c;
}

test_case twice(int64_t n) {
  return elementwise("twice", std::to_string(n), {n}, {n}, n,
                     [](const std::vector<floats>& in, std::size_t i) { return 2.0f * in[0][i]; });
}

test_case add(int64_t n) {
  return elementwise("add", std::to_string(n), {n}, {n, n}, n,
                     [](const std::vector<floats>& in, std::size_t i) { return in[0][i] + in[1][i]; });
}

test_case outer_product(int64_t rows, int64_t columns) {
  return elementwise(
      "outer_product", std::to_string(rows) + "x" + std::to_string(columns), {rows, columns}, {rows, columns},
      rows * columns,
      [columns](const std::vector<floats>& in, std::size_t i) {
        return in[0][i / static_cast<std::size_t>(columns)] * in[1][i % static_cast<std::size_t>(columns)];
      },
      columns);
}

test_case add_neighbours(int64_t rows) {
  return elementwise(
      "add_neighbours", std::to_string(rows), {rows}, {rows * row}, rows * row,
      [](const std::vector<floats>& in, std::size_t i) {
        return in[0][i] + (i % row + 1 < row ? in[0][i + 1] : in[0][i + 1 - row]);
      },
      row);
}

test_case add_twice(const char* entry, int64_t n) {
  return elementwise(entry, std::to_string(n), {n}, {n, n}, n,
                     [](const std::vector<floats>& in, std::size_t i) { return 2.0f * in[0][i] + in[1][i]; });
}

/// Sums of runs of `length` numbers. In any order, a sum is off by far less than a quarter of a millionth of the sum of
/// the magnitudes, unless it omits numbers.
test_case sums(std::string entry, lab::part where, int64_t rows, int64_t length) {
  test_case c;
  const int64_t parameter = where == lab::part::host ? length : rows;
  c.id = entry + "/" + std::to_string(parameter);
  c.entry = std::move(entry);
  c.where = where;
  c.parameters = {parameter};
  c.outputs = {{lab::dtype::f32, rows}};
  c.work = {static_cast<double>(rows * length), 4.0 * static_cast<double>(rows * length)};
  c.inputs = [n = static_cast<std::size_t>(rows * length)](std::uint64_t seed) {
    std::vector<float> x = lab::random_floats(n, seed);
    const float unit = std::ldexp(1.0f, static_cast<int>(seed % 120) - 60);  // no fixed point holds all
    for (float& one : x) one *= unit;
    return lab::buffers(x);
  };
  c.check = [rows, length](std::span<const buffer> before, std::span<const buffer> outputs) {
    const floats in = before[0].as<float>(), got = outputs[0].as<float>();
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
      double sum = 0, magnitudes = 0;
      for (const float x : in.subspan(r * static_cast<std::size_t>(length), static_cast<std::size_t>(length))) {
        sum += static_cast<double>(x);
        magnitudes += std::abs(static_cast<double>(x));
      }
      const float want = static_cast<float>(sum);
      const std::string wrong = lab::mismatch(got.subspan(r, 1), floats(&want, 1), {magnitudes * 0x1p-22, 0});
      if (!wrong.empty()) return rows == 1 ? wrong : "the sum of row " + std::to_string(r) + ": " + wrong;
    }
    return std::string{};
  };
  return c;
}

test_case row_sums(int64_t rows) { return sums("row_sums", lab::part::device, rows, row); }
test_case sum(int64_t n) { return sums("sum", lab::part::host, 1, n); }

std::vector<test_case> cases() {
  std::vector<test_case> all;
  for (int64_t blocks : {1, 2, 3, 7, 128}) all.push_back(twice(256 * blocks));
  // 1, primes, one less and one more than a warp and a block, and one that fills a device.
  for (int64_t n : {1, 31, 33, 255, 256, 257, 1000, 1021, 65'535, 65'537}) all.push_back(add(n));
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 1},
                                      {1, 37},
                                      {37, 1},
                                      {7, 33},
                                      {9, 31},
                                      {100, 100},
                                      {512, 256},
                                      {3, 1100},
                                      {100'000, 3}})
    all.push_back(outer_product(rows, columns));
  for (int64_t rows : {1, 2, 3, 37, 1000}) {
    all.push_back(add_neighbours(rows));
    all.push_back(row_sums(rows));
  }
  for (int64_t n : {1, 255, 257, 10'007, 65'536, 65'537, 200'003, 1 << 20}) all.push_back(add_twice("add_twice", n));
  all.push_back(add_twice("add_twice_in_chunks", 1 << 20));
  for (int64_t n : {1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 1000, 1021, 100'003}) all.push_back(sum(n));
  all.push_back(timed(sum(1 << 25)));
  return all;
}

/// Random sizes: no submission can prepare for them.
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes size(seed);
  const int64_t rows = size(1001, 1400);  // exceeds every case above, as do the columns
  return {like("twice/32768", twice(256 * size(130, 500))),
          add(size(2, 20'000)),
          add(size(1'050'000, 1'100'000)),
          twice(256 * size(4100, 4400)),
          add_twice("add_twice", size(4'200'000, 4'300'000)),
          outer_product(size(2, 100), size(1025, 2500)),
          like("outer_product/512x256", outer_product(size(100, 600), 32 * size(4, 20))),
          like("add_neighbours/1000", add_neighbours(rows)),
          like("row_sums/1000", row_sums(rows + 1)),
          add_twice("add_twice", size(2, 20'000)),
          like("add_twice/1048576", add_twice("add_twice", 1024 * size(1030, 1400))),
          sum(size(2, 20'000)),
          sum(size(100'004, 200'000)),
          like("sum/33554432", timed(sum((1 << 25) + size(1, 99'999))))};
}

const lab::case_registration registration{"00_first_kernel", cases, drawn_cases};

}  // namespace
