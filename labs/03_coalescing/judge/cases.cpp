// Lab 03's problems: sizes, seeded inputs, expected results, and how much work they take.
#include <lab/case.hpp>
#include <lab/compare.hpp>

#include <cmath>
#include <utility>

namespace {

using lab::buffer;
using lab::buffer_spec;
using lab::dtype;
using lab::test_case;
using std::int64_t;

using floats = std::vector<float>;

/// A case with one input of `input_size` random floats and one output whose element i must be want(input)[i]. If no
/// error is `allowed`, the case is a copy.
test_case elementwise(std::string entry, std::string sizes, std::vector<int64_t> parameters, int64_t input_size,
                      int64_t output_size, std::size_t row_length, lab::tolerance allowed,
                      std::function<floats(std::span<const float>)> want) {
  test_case result;
  result.id = entry + "/" + sizes;
  result.entry = std::move(entry);
  result.parameters = std::move(parameters);
  result.outputs = {{dtype::f32, output_size}};
  const bool copy = allowed.absolute == 0.0;
  result.inputs = [=](std::uint64_t seed) {
    return lab::buffers(
        (copy ? lab::floats_of_any_size : lab::random_floats)(static_cast<std::size_t>(input_size), seed));
  };
  result.check = [=, want = std::move(want)](std::span<const buffer> before, std::span<const buffer> outputs) {
    const floats wanted = want(before[0].as<float>());
    return copy ? lab::copy_mismatch(outputs[0].as<float>(), wanted, row_length)
                : lab::mismatch(outputs[0].as<float>(), wanted, allowed, row_length);
  };
  result.work.bytes = 4.0 * static_cast<double>(input_size + output_size);
  return result;
}

std::string by(int64_t rows, int64_t columns) { return std::to_string(rows) + "x" + std::to_string(columns); }

/// Relative even where the sigmoid is small: __expf is off by up to 1e-5, and its error grows with |x| (CUDA C++
/// Programming Guide, "Mathematical functions").
constexpr lab::tolerance sigmoid_tolerance{1e-30, 2e-5};

test_case sigmoid(const std::string& entry, int64_t rows, int64_t columns) {
  test_case result = elementwise(entry, by(rows, columns), {rows, columns}, rows * columns, rows * columns,
                                 static_cast<std::size_t>(columns), sigmoid_tolerance, [](std::span<const float> in) {
                                   floats out(in.size());
                                   for (std::size_t i = 0; i < in.size(); ++i)
                                     out[i] = static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(in[i]))));
                                   return out;
                                 });
  // Inputs beyond the range of a polynomial approximation, far beyond it, and infinite.
  result.inputs = [n = rows * columns](std::uint64_t seed) {
    floats x = lab::long_tailed_floats(static_cast<std::size_t>(n), 8.0f, 120.0f, seed);
    for (float& value : x)
      if (std::abs(value) > 119.0f) value *= INFINITY;
    return lab::buffers(x);
  };
  result.work.flops = 4.0 * static_cast<double>(rows * columns);
  return result;
}

test_case transpose(const std::string& entry, int64_t rows, int64_t columns) {
  return elementwise(entry, by(rows, columns), {rows, columns}, rows * columns, rows * columns,
                     static_cast<std::size_t>(rows), {}, [rows, columns](std::span<const float> in) {
                       floats out(in.size());
                       constexpr int64_t tile = 64;  // cache blocking, because the judge has large cases too
                       for (int64_t r0 = 0; r0 < rows; r0 += tile)
                         for (int64_t c0 = 0; c0 < columns; c0 += tile)
                           for (int64_t r = r0; r < std::min(r0 + tile, rows); ++r)
                             for (int64_t c = c0; c < std::min(c0 + tile, columns); ++c)
                               out[static_cast<std::size_t>(c * rows + r)] =
                                   in[static_cast<std::size_t>(r * columns + c)];
                       return out;
                     });
}

test_case gather(const std::string& entry, std::string sizes, int64_t n, int64_t second, int64_t input_size,
                 int64_t step, int64_t start) {
  std::vector<int64_t> parameters{n};
  if (second >= 0) parameters.push_back(second);
  return elementwise(entry, std::move(sizes), std::move(parameters), input_size, n, 0, {},
                     [n, step, start](std::span<const float> in) {
                       floats out(static_cast<std::size_t>(n));
                       for (int64_t i = 0; i < n; ++i)
                         out[static_cast<std::size_t>(i)] = in[static_cast<std::size_t>(i * step + start)];
                       return out;
                     });
}

test_case points(int64_t n) {
  test_case result = elementwise("points_to_arrays", std::to_string(n), {n}, 3 * n, n, 0, {}, nullptr);
  result.outputs.assign(3, {dtype::f32, n});
  result.work.bytes = 24.0 * static_cast<double>(n);
  result.check = [n](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto in = before[0].as<float>();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      floats want(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < want.size(); ++i) want[i] = in[3 * i + axis];
      const std::string wrong = lab::copy_mismatch(outputs[axis].as<float>(), want);
      if (!wrong.empty()) return std::string{"xyz"[axis]} + ": " + wrong;
    }
    return std::string{};
  };
  return result;
}

test_case column_sums(int64_t rows, int64_t columns) {
  // The sum of n floats of magnitude <= 1, in any order, is off by at most n^2 / 2 roundings of 2^-24 (Higham,
  // Accuracy and Stability, 4.2: gamma_{n-1} times the sum of magnitudes). With random signs, partial sums grow like
  // sqrt(n / 3) and errors like n / 3 roundings of 2^-25: 1e-8 n. Of thousands of columns, a few have partial sums
  // three times as large and errors of five sigma: we saw 1.8e-7 n, and allow thirty times 1e-8 n.
  const double bound = static_cast<double>(rows) * static_cast<double>(rows) * 0x1p-24;
  test_case result = elementwise(
      "column_sums", by(rows, columns), {rows, columns}, rows * columns, columns, 0,
      {std::min(bound, 3e-7 * static_cast<double>(rows)), 0.0}, [rows, columns](std::span<const float> in) {
        std::vector<double> sums(static_cast<std::size_t>(columns));
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < columns; ++c)
            sums[static_cast<std::size_t>(c)] += static_cast<double>(in[static_cast<std::size_t>(r * columns + c)]);
        return floats(sums.begin(), sums.end());
      });
  result.where = lab::part::host;
  result.work.flops = static_cast<double>(rows * columns);
  return result;
}

/// All cases that compute on a matrix of this shape.
void add_shape(std::vector<test_case>& all, int64_t rows, int64_t columns) {
  for (const char* entry : {"transpose_naive", "transpose_tiled", "transpose_padded", "transpose"})
    all.push_back(transpose(entry, rows, columns));
  for (const char* entry : {"sigmoid_thread_per_row", "sigmoid_thread_per_column"})
    all.push_back(sigmoid(entry, rows, columns));
  all.push_back(column_sums(rows, columns));
}

std::vector<test_case> cases() {
  std::vector<test_case> all;
  // 1, primes, one below and one above multiples of a tile and a warp, non-square shapes, one that fills a device; more
  // rows, or columns, than a grid has blocks in y.
  const std::pair<int64_t, int64_t> shapes[] = {{1, 1},       {1, 37},    {37, 1},  {31, 33},  {32, 32},
                                                {33, 31},     {63, 65},   {64, 64}, {127, 97}, {1000, 3},
                                                {1024, 1024}, {66, 32},   {32, 66},  // only one side is a multiple of 4
                                                {66'000, 2},  {2, 66'000}};
  for (const auto& [rows, columns] : shapes) add_shape(all, rows, columns);
  all.push_back(column_sums(30'000, 5));  // one side too long for any fixed-size buffer
  all.push_back(column_sums(5, 300'000));
  for (int64_t n : {1, 2, 3, 4, 5, 31, 32, 33, 127, 128, 129, 1023, 4096, 100'003, 1 << 20})
    all.push_back(gather("copy_vectorized", std::to_string(n), n, -1, n, 1, 0));
  for (int64_t n : {1, 31, 32, 33, 85, 86, 255, 256, 257, 10'007, 1 << 18}) all.push_back(points(n));
  for (int64_t stride : {1, 2, 3, 8, 32}) {
    const int64_t n = 4096;
    all.push_back(gather("copy_strided", std::to_string(stride), n, stride, n * stride, stride, 0));
  }
  for (int64_t offset : {0, 1, 8, 31}) {
    const int64_t n = 4096;
    all.push_back(gather("copy_offset", std::to_string(offset), n, offset, n + offset, 1, offset));
  }
  for (int64_t pitch : {32, 33, 34, 36, 40, 48}) {
    test_case tile = transpose("read_tile_columns", 32, 32);
    tile.id = "read_tile_columns/" + std::to_string(pitch);
    tile.parameters = {pitch};
    all.push_back(std::move(tile));
  }
  all.push_back(timed(transpose("transpose", 16384, 16384)));
  all.push_back(timed(transpose("transpose", 32768, 32768)));
  all.push_back(timed(column_sums(4096, 8192)));
  return all;
}

/// Random sizes: no submission can prepare for them.
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes size(seed);
  std::vector<test_case> all;
  for (int i = 0; i < 2; ++i) {
    const int64_t rows = size(2, 300), columns = size(2, 300);
    add_shape(all, rows, columns);
    const int64_t n = size(5, 20'000);
    all.push_back(gather("copy_vectorized", std::to_string(n), n, -1, n, 1, 0));
    all.push_back(points(n));
  }
  // Larger than any case above.
  const int64_t few = size(1, 3), many = size(66'001, 80'000);
  for (const char* entry : {"transpose_tiled", "transpose_padded", "transpose"}) {
    all.push_back(transpose(entry, few, many));
    all.push_back(transpose(entry, many, few));
  }
  all.push_back(sigmoid("sigmoid_thread_per_column", few, many));
  all.push_back(sigmoid("sigmoid_thread_per_column", many, few));
  all.push_back(column_sums(few, many));
  all.push_back(column_sums(many, few));
  const int64_t copied = (1 << 20) + size(1, 9999), split = (1 << 18) + size(1, 9999);
  all.push_back(gather("copy_vectorized", std::to_string(copied), copied, -1, copied, 1, 0));
  all.push_back(points(split));
  // Cases whose counters are read: whole warps and tiles.
  const int64_t rows = 32 * size(5, 20), columns = 32 * size(5, 20), vectors = 128 * size(100, 2000);
  for (const char* entry : {"transpose_tiled", "transpose_padded", "transpose"})
    all.push_back(like(std::string(entry) + "/1024x1024", transpose(entry, rows, columns)));
  all.push_back(like("sigmoid_thread_per_column/1024x1024", sigmoid("sigmoid_thread_per_column", rows, columns)));
  all.push_back(
      like("copy_vectorized/1048576", gather("copy_vectorized", std::to_string(vectors), vectors, -1, vectors, 1, 0)));
  all.push_back(like("points_to_arrays/262144", points(256 * size(50, 500))));
  // Timed in official grading.
  all.push_back(like("column_sums/4096x8192", timed(column_sums(4096 + size(1, 200), 8192 + 64 * size(1, 9)))));
  return all;
}

const lab::case_registration registration{"03_coalescing", cases, drawn_cases};

}  // namespace
