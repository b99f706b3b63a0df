// Lab 13's problems: what the mended functions must compute. The findings need no case: the judge runs the crashed
// programs themselves.
#include <lab/case.hpp>
#include <lab/compare.hpp>
#include <lab/random.hpp>

#include <cmath>
#include <string>
#include <utility>

namespace {

using lab::buffer;
using lab::dtype;
using lab::test_case;
using std::int64_t;

using floats = std::vector<float>;
using doubles = std::vector<double>;

floats some(int64_t count, std::uint64_t seed) { return lab::random_floats(static_cast<std::size_t>(count), seed); }

/// A case with one output of floats; `want` has its elements.
test_case floats_case(const std::string& entry, std::vector<int64_t> parameters, int64_t outputs,
                      lab::tolerance allowed, std::function<std::vector<buffer>(std::uint64_t seed)> inputs,
                      std::function<floats(std::span<const buffer>)> want) {
  test_case c;
  c.entry = entry;
  c.id = entry + "/";
  for (const int64_t p : parameters) c.id += (c.id.ends_with('/') ? "" : "x") + std::to_string(p);
  c.parameters = std::move(parameters);
  c.outputs = {{dtype::f32, outputs}};
  c.inputs = std::move(inputs);
  c.check = [allowed, want = std::move(want)](std::span<const buffer> before, std::span<const buffer> got) {
    return lab::mismatch(got[0].as<float>(), want(before), allowed);
  };
  c.work.bytes = 4.0 * static_cast<double>(outputs);
  return c;
}

/// A sum of n products of numbers below 1 in size, in any order, is off by at most n^2 roundings of 2^-24.
lab::tolerance sum_of(int64_t n) { return {static_cast<double>(n) * static_cast<double>(n) * 0x1p-24, 0}; }

test_case kv_scores(int64_t length, int64_t size) {
  return floats_case(
      "kv_scores", {length, size}, length, sum_of(size),
      [=](std::uint64_t seed) {
        return std::vector{buffer::of(some(size, seed)), buffer::of(some(length * size, seed + 1))};
      },
      [=](std::span<const buffer> in) {
        floats scores;
        for (int64_t t = 0; t < length; ++t) {
          double sum = 0;
          for (int64_t i = 0; i < size; ++i) sum += double{in[0].as<float>()[i]} * in[1].as<float>()[t * size + i];
          scores.push_back(static_cast<float>(sum));
        }
        return scores;
      });
}

test_case page_rows(int64_t pages, int64_t each, int64_t hot, int64_t more, int64_t size) {
  const int64_t all = pages * each * size;
  return floats_case(
      "page_rows", {pages, each, hot, more, size}, all, {},
      [=](std::uint64_t seed) { return std::vector{buffer::of(some(all + more * size, seed))}; },
      [=](std::span<const buffer> in) { return floats(in[0].as<float>().begin(), in[0].as<float>().begin() + all); });
}

test_case row_sums(int64_t rows, int64_t most) {
  constexpr int64_t tile = 256;
  // The same number of tiles for each seed: the rows share them in another way.
  const int64_t tiles = rows * most / 2;
  return floats_case(
      "row_sums", {rows, most}, rows, sum_of(std::max<int64_t>(tiles, 1) * tile),
      [=](std::uint64_t seed) {
        lab::random_sizes size(seed);
        std::vector<int> first(1, 0);
        for (int64_t r = 0; r < rows; ++r)
          first.push_back(
              static_cast<int>(r + 1 == rows ? tiles : std::min<int64_t>(tiles, first.back() + size(0, most))));
        return std::vector{buffer::of(some(tiles * tile, seed)), buffer::of(first)};
      },
      [=](std::span<const buffer> in) {
        floats sums;
        for (int64_t r = 0; r < rows; ++r) {
          double sum = 0;
          for (int64_t i = in[1].as<int>()[r] * tile; i < in[1].as<int>()[r + 1] * tile; ++i)
            sum += in[0].as<float>()[i];
          sums.push_back(static_cast<float>(sum));
        }
        return sums;
      });
}

std::vector<test_case> make() {
  std::vector<test_case> all;
  for (const auto& [length, size] : {std::pair{1, 8}, {64, 16}, {65, 16}, {300, 40}})
    all.push_back(kv_scores(length, size));
  all.push_back(page_rows(1, 1, 0, 0, 1));
  all.push_back(page_rows(5, 4, 4, 3, 16));
  all.push_back(page_rows(7, 3, 0, 40, 33));
  all.push_back(row_sums(1, 2));
  all.push_back(row_sums(9, 4));
  all.push_back(row_sums(40, 6));
  return all;
}

std::vector<test_case> draw(std::uint64_t seed) {
  lab::random_sizes size(seed);
  const int64_t pages = size(2, 12);
  return {kv_scores(size(66, 400), size(1, 48)),
          page_rows(pages, size(1, 5), size(0, pages - 1), size(1, 30), size(1, 40)),
          row_sums(size(2, 50), size(2, 7))};
}

const lab::case_registration registered("13_when_it_crashes", make, draw);

}  // namespace
