// Lab 12's problems: files to load, tokens to generate, attention through a small cache, totals that several cores
// write; and the cost of the given functions, for the predictions.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <lab/case.hpp>
#include <lab/exchange.hpp>
#include <lab/figures.hpp>
#include <lab/splitmix.hpp>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "cache.hpp"
#include "layer_weights.hpp"

namespace {

using lab::buffer;
using lab::dtype;
using lab::test_case;
using std::int64_t;
using bytes = std::vector<std::byte>;
using floats = std::vector<float>;

std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

// ---- files --------------------------------------------------------------------------------------------------------

std::string path_of(const std::string& id) {
  std::string name = id;
  std::replace(name.begin(), name.end(), '/', '-');
  return (lab::exchange_folder() / name).string();
}

/// Overwrites the file in place, so that its pages stay where they are.
void write_file(const std::string& path, const bytes& content, int64_t before) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  bool good = file >= 0 && ftruncate(file, before + static_cast<off_t>(content.size())) == 0;
  for (std::size_t done = 0; good && done < content.size();) {
    const ssize_t put = pwrite(file, content.data() + done, content.size() - done, before + static_cast<off_t>(done));
    good = put > 0;
    done += good ? at(put) : 0;
  }
  if (file >= 0) close(file);
  if (!good) throw std::runtime_error("cannot write " + path);
}

bytes read_file(const std::string& path, int64_t from, int64_t to) {
  bytes content(at(to - from));
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool good = file >= 0 && pread(file, content.data(), content.size(), from) == to - from;
  if (file >= 0) close(file);
  if (!good) throw std::runtime_error("cannot read " + path);
  return content;
}

struct weights {
  int64_t count, most_bytes;  ///< number of tensors, and the largest size of one
  bool equal = false;         ///< all have the largest size, without gaps: the same sizes for every seed
  enum { whole, cut, missing, folder } what = whole;
  int64_t before = 0;        ///< bytes of the file before the first tensor; on disk they are a hole
  int64_t most_at_once = 0;  ///< the most bytes that a read returns; 0: no limit
};

/// Offset, bytes and address of each tensor, as `load` gets them; the sizes of file and memory suffice for any seed.
std::vector<int64_t> table_of(const weights& w, std::uint64_t seed) {
  lab::random_sizes draw(seed);
  std::vector<int64_t> sizes(at(w.count)), order(at(w.count)), table(at(3 * w.count));
  for (int64_t& size : sizes) size = w.equal ? w.most_bytes : draw(0, w.most_bytes);
  if (!w.equal) sizes.back() = std::max<int64_t>(sizes.back(), 1);  // the part that is cut off must not be empty
  int64_t offset = w.before + (w.equal ? 4096 : draw(0, 4096));
  for (std::size_t i = 0; i < at(w.count); ++i) {
    table[3 * i] = offset;
    table[3 * i + 1] = sizes[i];
    offset += sizes[i] + (w.equal ? 0 : draw(0, 255));
  }
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[at(draw(0, static_cast<int64_t>(i) - 1))]);
  int64_t place = 0;
  for (const int64_t i : order) {
    table[at(3 * i + 2)] = place;
    place += sizes[at(i)] + (w.equal ? 0 : draw(0, 64));
  }
  return table;
}

int64_t most_of_memory(const weights& w) { return w.count * (w.most_bytes + 64); }
int64_t most_of_file(const weights& w) { return 4096 + w.count * (w.most_bytes + (w.equal ? 0 : 255)); }

/// A case with a file of its own, whose path and table are the inputs. The parameters are also those of the ceiling
/// "file": the first is the number of bytes to read.
test_case file_case(const std::string& entry, const std::string& name, const weights& w) {
  test_case c;
  c.id = entry + "/" + name;
  c.entry = entry;
  c.where = lab::part::host;
  c.parameters = {most_of_file(w), w.count, w.most_at_once};
  c.outputs = {{dtype::u8, std::max(most_of_memory(w), most_of_file(w))}};
  c.counts_calls = true;
  c.inputs = [w, id = c.id](std::uint64_t seed) {
    const std::vector<int64_t> table = table_of(w, seed);
    const std::string path = w.what == weights::folder ? lab::exchange_folder().string() : path_of(id);
    if (w.what == weights::whole || w.what == weights::cut) {
      bytes content(at(most_of_file(w)) + 8);
      std::uint64_t state = seed;
      for (std::size_t i = 0; i + 8 <= content.size(); i += 8) {
        const std::uint64_t word = lab::splitmix64(state);
        std::memcpy(&content[i], &word, 8);
      }
      const int64_t end = table[table.size() - 3] + table[table.size() - 2] - w.before;
      content.resize(w.what == weights::cut ? at(end) - 1 : w.equal ? at(end) : content.size() - 8);
      write_file(path, content, w.before);
    }
    std::vector<std::uint8_t> text(path.begin(), path.end());
    text.push_back(0);
    return lab::buffers(text, table);
  };
  c.work.bytes = static_cast<double>(most_of_file(w));
  return c;
}

/// Checks that every tensor is in its place, and that nothing else was written.
std::string wrong_memory(std::span<const buffer> before, const buffer& memory) {
  const std::string path(reinterpret_cast<const char*>(before[0].bytes().data()));
  const auto table = before[1].as<int64_t>();
  const bytes content = read_file(path, table[0], table[table.size() - 3] + table[table.size() - 2]);
  bytes want(memory.bytes().size(), std::byte{0xFF});
  for (std::size_t i = 0; i < table.size(); i += 3)
    std::copy_n(content.begin() + (table[i] - table[0]), table[i + 1], want.begin() + table[i + 2]);
  const auto [got, right] = std::mismatch(memory.bytes().begin(), memory.bytes().end(), want.begin());
  if (got == memory.bytes().end()) return {};
  const int64_t where = got - memory.bytes().begin();
  for (std::size_t i = 0; i < table.size(); i += 3)
    if (where >= table[i + 2] && where < table[i + 2] + table[i + 1])
      return fmt::format("byte {} of tensor {} ({} bytes at {} in the file) is {:#04x}, should be {:#04x}",
                         where - table[i + 2], i / 3, table[i + 1], table[i], static_cast<int>(*got),
                         static_cast<int>(*right));
  return fmt::format("wrote to byte {} of the memory, which belongs to no tensor", where);
}

test_case load_case(const std::string& name, const weights& w) {
  test_case c = file_case("load", name, w);
  // The report shows the smallest failing case: list cases with wrong bytes first.
  if (w.what != weights::whole) c.outputs[0].size += 2 << 20;
  c.outputs.push_back({dtype::i32, 1});
  c.check = [w](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const std::int32_t said = outputs[1].as<std::int32_t>()[0];
    if (said == 2) return "each call to load leaks memory";
    if (w.what == weights::cut)
      return said == 0 ? "" : "the file ends one byte before the last tensor does, but load returned true";
    if (w.what == weights::missing) return said == 0 ? "" : "there is no such file, but load returned true";
    if (w.what == weights::folder) return said == 0 ? "" : "the path is a folder, but load returned true";
    std::string wrong = said == 1 ? wrong_memory(before, outputs[0]) : "load returned false";
    if (!wrong.empty() && w.most_at_once > 0)
      wrong += fmt::format("; each read returned at most {} bytes: continue after them", w.most_at_once);
    return wrong;
  };
  return c;
}

/// A case for one function of given/readers.hpp, which reads a file of 64 tensors of 16,000 bytes.
test_case reader_case(const std::string& entry) {
  test_case c = file_case(entry, "64x16000", {64, 16000, true});
  c.check = [](std::span<const buffer>, std::span<const buffer>) { return std::string(); };
  return c;
}

test_case habit_case(const std::string& entry, int64_t times) {
  test_case c;
  c.id = fmt::format("{}/{}", entry, times);
  c.entry = entry;
  c.where = lab::part::host;
  c.parameters = {times};
  c.outputs = {{dtype::i64, 1}};
  c.counts_calls = true;
  c.inputs = [](std::uint64_t) { return std::vector<buffer>(); };
  c.check = [](std::span<const buffer>, std::span<const buffer>) { return std::string(); };
  return c;
}

// ---- tokens -------------------------------------------------------------------------------------------------------

/// The range of a model's numbers. If small, the rounding of a halved state matters; if large, a state needs more than
/// 32 bits, and so does its product with a number of `head`; if below zero, all sums are far below the smallest int.
enum class numbers { usual, small, large, below_zero };

test_case generate_case(int64_t vocabulary, int64_t width, int64_t first, int64_t count,
                        numbers like = numbers::usual) {
  test_case c;
  c.id = fmt::format("generate/{}x{}-{}", vocabulary, width, count);
  c.id += std::array{"", "-small", "-large", "-below"}[static_cast<std::size_t>(like)];
  c.entry = "generate";
  c.where = lab::part::host;
  c.parameters = {vocabulary, width, first, count};
  c.outputs = {{dtype::i32, count}, {dtype::u8, 12 * count + 1}, {dtype::i64, width + vocabulary}};
  c.counts_calls = true;
  c.inputs = [=](std::uint64_t seed) {
    std::vector<std::int32_t> embedding(at(vocabulary * width)), head(embedding.size());
    std::uint64_t state = seed;
    for (auto* table : {&embedding, &head}) {
      const int64_t large = table == &head ? 1 << 20 : std::numeric_limits<std::int32_t>::max(),
                    small = table == &head ? 10'000 : 3,
                    most = like == numbers::usual   ? 10'000
                           : like == numbers::small ? small
                                                    : large;
      for (std::int32_t& one : *table) {
        const auto drawn = static_cast<int64_t>(lab::splitmix64(state) % static_cast<std::uint64_t>(2 * most + 1));
        one = static_cast<std::int32_t>(drawn - most);
        if (like == numbers::below_zero) one = table == &head ? -1 - std::abs(one) : std::max(1, std::abs(one));
      }
    }
    // Each token has a twin with the same sums.
    for (std::size_t i = head.size() / 2; width % 2 == 1 && vocabulary % 2 == 0 && i < head.size(); ++i)
      head[i] = head[i - head.size() / 2];
    return lab::buffers(std::move(embedding), std::move(head));
  };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto embedding = before[0].as<std::int32_t>(), head = before[1].as<std::int32_t>();
    const auto w = at(width);
    std::vector<int64_t> state(w);
    std::string text;
    int64_t last = first;
    for (std::size_t t = 0; t < at(count); ++t) {
      for (std::size_t i = 0; i < w; ++i) state[i] = state[i] / 2 + embedding[at(last) * w + i];
      int64_t best = std::numeric_limits<int64_t>::min();
      for (std::size_t token = 0; token < at(vocabulary); ++token) {
        int64_t sum = 0;
        for (std::size_t i = 0; i < w; ++i) sum += state[i] * head[token * w + i];
        if (sum > best) best = sum, last = static_cast<int64_t>(token);
      }
      const int64_t got = outputs[0].as<std::int32_t>()[t];
      if (got != last) return fmt::format("token {} is {}, should be {}", t, got, last);
      text += fmt::format("{}\n", last);
    }
    const auto written = outputs[1].bytes();
    if (std::memcmp(written.data(), text.c_str(), text.size() + 1) != 0)
      return "the tokens are right, but the text is not";
    return "";
  };
  return c;
}

// ---- a pool of threads ----------------------------------------------------------------------------------------------

/// For each operation, whether parts wait for each other; -1 after the last one, as the number varies, too. If `meet`
/// is 2, that is in the first, when threads may not have started yet, in the last, when they sleep, and in some that a
/// pool cannot know. Where time is measured, only one call in eight has such a one: the median does not include it.
std::vector<std::int32_t> plan_of(int64_t operations, int64_t meet, bool is_timed, std::uint64_t seed) {
  std::vector<std::int32_t> plan(at(operations), meet == 1 ? 1 : 0);
  if (meet != 2) return plan;
  lab::random_sizes draw(seed);
  const int64_t last = operations - 1 - draw(0, operations / 32), some = is_timed ? draw(0, 7) / 7 : 8;
  plan[0] = plan[at(last)] = 1;
  for (int64_t i = 0; i < some; ++i) plan[at(draw(1, last))] = 1;
  std::fill(plan.begin() + last + 1, plan.end(), -1);
  return plan;
}

/// The first three parameters are also those of the ceiling "threads".
test_case pool_case(int64_t parts, int64_t operations, int64_t rounds, int64_t threads, int64_t pools = 1,
                    int64_t meet = 0, int64_t idle_ms = 0) {
  constexpr int64_t most_parts = 1000, variants = 4;
  // A pool that is compared with one thread per part, or counted per operation, has the same number of parts in each
  // operation.
  const bool varies = meet != 2 && idle_ms == 0;
  test_case c;
  c.id = fmt::format("run/{}x{}-{}{}{}", operations, parts, threads, pools > 1 ? fmt::format("-{}pools", pools) : "",
                     meet == 1 ? "-meet" : "");
  c.entry = "run";
  c.where = lab::part::host;
  c.parameters = {parts, operations, rounds, threads, pools, meet, idle_ms, varies};
  c.outputs = {{dtype::f64, 2}, {dtype::i32, variants * most_parts}, {dtype::i32, 1}};
  c.threads = static_cast<int>(pools > 1 ? 2 * threads + 2 : threads + 1);
  c.inputs = [=](std::uint64_t seed) { return lab::buffers(plan_of(operations, meet, idle_ms == 0, seed)); };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto plan = before[0].as<std::int32_t>();
    // Operation k of a pool calls function k % 2 with state k / 2 % 2; every third one has half of the parts.
    std::vector<int64_t> want(at(variants * most_parts));
    for (int64_t k = 0; k < operations && plan[at(k)] >= 0; ++k)
      for (int64_t part = 0; part < (varies && k % 3 == 1 ? parts / 2 : parts); ++part)
        want[at(k % variants * most_parts + part)] += pools;
    for (std::size_t i = 0; i < want.size(); ++i)
      if (const int64_t got = outputs[1].as<std::int32_t>()[i]; got != want[i])
        return fmt::format(
            "{} operations with two functions and two states in turn: part {} ran {} times with "
            "function {} and state {}, should run {} times",
            operations, i % most_parts, got, i / most_parts % 2 + 1, i / most_parts / 2 + 1, want[i]);
    const std::int32_t state = outputs[2].as<std::int32_t>()[0];
    if (state == 3) return "each pool leaks memory: in stop_pool, free everything that start_pool allocated";
    if (state == 4)
      return "two threads run two pools at the same time: some parts did not run exactly once; keep what a "
             "pool works on in the pool";
    if (state == 5)
      return "the caller of run takes nearly every part itself while parts sleep; wake other threads as soon as there "
             "is a part for them";
    if (state == 2) return "run returned before all of its parts had";
    if (state == 6)
      return fmt::format("more than {} parts ran at the same time in a pool of {} threads and the caller", threads + 1,
                         threads);
    if (state != 1)
      return fmt::format("{} parts for {} threads: {} parts should run at the same time, but did not", parts, threads,
                         std::min(parts, threads));
    return "";
  };
  return c;
}

// ---- attention through a cache --------------------------------------------------------------------------------------

struct likes {
  float spread = 1;
  bool below = false;  ///< all scores lie between -1000 and -400
};

std::string wrong_row(std::span<const float> q, std::span<const float> k, std::span<const float> v,
                      std::span<const float> got) {
  const std::size_t size = q.size(), n = k.size() / size;
  const double scale = 1 / std::sqrt(static_cast<double>(size)), unit = 0x1p-24;
  std::vector<double> weights(n), want(size), magnitude(size);
  double most = -std::numeric_limits<double>::infinity(), product = 0, sum = 0;
  for (std::size_t j = 0; j < n; ++j) {
    double score = 0, terms = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const double term = static_cast<double>(q[i]) * static_cast<double>(k[j * size + i]);
      score += term, terms += std::abs(term);
    }
    weights[j] = score * scale;
    most = std::max(most, weights[j]);
    product = std::max(product, terms * scale);
  }
  for (double& one : weights) sum += one = std::exp(one - most);
  for (double& one : weights) one /= sum;
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < size; ++i) {
      const double term = weights[j] * static_cast<double>(v[j * size + i]);
      want[i] += term, magnitude[i] += std::abs(term);
    }
  // The bound for a computation in FP32 in any order.
  const double relative =
      4 * (static_cast<double>(size) + 16) * unit * product + 2 * (static_cast<double>(n) + 32) * unit;
  for (std::size_t i = 0; i < size; ++i)
    if (!(std::abs(static_cast<double>(got[i]) - want[i]) <= relative * magnitude[i] + 1e-30))
      return fmt::format("column {} is {:.7g}, should be {:.7g}", i, got[i], want[i]);
  return {};
}

test_case attention_case(int64_t tokens, int64_t size, const likes& l = {}) {
  test_case c;
  c.id = fmt::format("attention/{}x{}{}{}", tokens, size, l.spread > 1 ? "-spread" : "", l.below ? "-below" : "");
  c.entry = "attention";
  c.where = lab::part::host;
  c.parameters = {tokens, size};
  c.outputs = {{dtype::f64, 3}, {dtype::f32, tokens * size}};
  c.inputs = [=](std::uint64_t seed) {
    const std::size_t n = at(tokens * size);
    floats q = lab::random_floats(n, seed), k = lab::random_floats(n, seed + 1), v = lab::random_floats(n, seed + 2);
    constexpr float around = 1.75f;
    const float far = std::sqrt(990.0f / std::sqrt(static_cast<float>(size))) - around;
    for (float& one : q) one = around * l.spread * one + (l.below ? far : 0.0f);
    for (float& one : k) one = around * one + (l.below ? -far : 0.125f);
    for (float& one : v) one += 0.25f;
    return lab::buffers(std::move(q), std::move(k), std::move(v));
  };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto q = before[0].as<float>(), k = before[1].as<float>(), v = before[2].as<float>(),
               out = outputs[1].as<float>();
    const std::size_t n = at(size);
    std::vector<std::string> wrong(at(tokens));
    lab::for_each_index(
        wrong.size(), [&](std::size_t i) { wrong[i] = wrong_row(q.subspan(i * n, n), k, v, out.subspan(i * n, n)); },
        k.size());
    for (std::size_t i = 0; i < wrong.size(); ++i)
      if (!wrong[i].empty()) return fmt::format("query {}: {}", i, wrong[i]);
    return "";
  };
  return c;
}

// ---- totals that several cores write --------------------------------------------------------------------------------

/// Cases with at least this many elements count the lines moved and measure the cost of sharing.
constexpr int64_t counted_from = 5000;

test_case count_case(int64_t n, int64_t workers) {
  test_case c;
  c.id = fmt::format("count_positive/{}-{}", n, workers);
  c.entry = "count_positive";
  c.where = lab::part::host;
  c.parameters = {n, workers, n >= counted_from};
  c.outputs = {{dtype::f64, 3}, {dtype::i64, workers}, {dtype::i64, 32 * workers}};
  c.threads = n >= counted_from ? 2 : 1;
  c.inputs = [=](std::uint64_t seed) {
    std::vector<std::int32_t> x(at(n));
    std::uint64_t state = seed;
    for (std::int32_t& one : x) one = static_cast<std::int32_t>(lab::splitmix64(state) % 5) - 1;  // 3 of 5 are positive
    return lab::buffers(x);
  };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto x = before[0].as<std::int32_t>();
    double all = 0;
    for (int64_t w = 0; w < workers; ++w) {
      const auto want = std::count_if(x.begin() + n * w / workers, x.begin() + n * (w + 1) / workers,
                                      [](std::int32_t one) { return one > 0; });
      all += static_cast<double>(want);
      if (const int64_t got = outputs[1].as<int64_t>()[at(w)]; got != want)
        return fmt::format("the total of worker {} of {} is {}, should be {}", w, workers, got, want);
    }
    if (const double grown = outputs[0].as<double>()[1]; grown < all)
      return fmt::format(
          "running totals were stored, as 64-bit numbers, with a larger value {} times, for {} elements above zero: "
          "other "
          "threads cannot watch them grow",
          grown, all);
    return "";
  };
  return c;
}

// ---- a model that is larger than the GPU ----------------------------------------------------------------------------

/// The layer of given/layer.hpp, in double.
std::vector<double> through_layers(std::span<const float> token, std::uint64_t seed, int64_t layers) {
  const std::size_t n = token.size();
  std::vector<double> x(token.begin(), token.end()), y(n);
  floats w(n * n);
  for (int64_t layer = 0; layer < layers; ++layer) {
    lab12::fill_layer(seed, static_cast<int>(layer), static_cast<int>(n), w.data());
    double squares = 0;
    for (const double one : x) squares += one * one;
    const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + 1e-6);
    for (std::size_t row = 0; row < n; ++row) {
      y[row] = 0;
      for (std::size_t i = 0; i < n; ++i) y[row] += static_cast<double>(w[row * n + i]) * x[i] * scale;
    }
    for (std::size_t i = 0; i < n; ++i) x[i] += y[i] / (1 + std::abs(y[i]));
  }
  return x;
}

test_case forward_case(int64_t layers, int64_t n) {
  test_case c;
  c.id = fmt::format("forward/{}x{}", layers, n);
  c.entry = "forward";
  c.parameters = {layers, n};
  c.outputs = {{dtype::f32, n}};
  c.inputs = [=](std::uint64_t seed) {
    std::uint64_t state = seed;
    return lab::buffers(lab::random_floats(at(n), seed), std::vector{static_cast<int64_t>(lab::splitmix64(state))});
  };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto got = outputs[0].as<float>();
    const std::vector<double> want =
        through_layers(before[0].as<float>(), static_cast<std::uint64_t>(before[1].as<int64_t>()[0]), layers);
    for (std::size_t i = 0; i < want.size(); ++i)
      if (!(std::abs(static_cast<double>(got[i]) - want[i]) <= 1e-3))
        return fmt::format("x[{}] is {:.6g} after {} layers, should be {:.6g}", i, got[i], layers, want[i]);
    return "";
  };
  c.work.bytes = static_cast<double>(4 * layers * n * n);
  return c;
}

// ---- figures for the predictions ----------------------------------------------------------------------------------

/// A matrix of 512 rows of 512 floats is read once, by columns: last-level misses without padding, and with 64 more
/// bytes per row; TLB misses with pages of 4 KiB, and of 2 MiB.
std::vector<double> walks() {
  constexpr std::uint64_t n = 512;
  const auto by_columns = [](std::uint64_t row_bytes, std::uint64_t bytes_of_a_page = lab12::page_bytes) {
    lab12::cache seen(bytes_of_a_page);
    for (std::uint64_t column = 0; column < n; ++column)
      for (std::uint64_t row = 0; row < n; ++row) seen.access(row * row_bytes + 4 * column, 4);
    return seen;
  };
  const lab12::cache whole = by_columns(4 * n);
  return {static_cast<double>(whole.last_misses), static_cast<double>(by_columns(4 * n + 64).last_misses),
          static_cast<double>(whole.tlb_misses),
          static_cast<double>(by_columns(4 * n, lab12::huge_page_bytes).tlb_misses)};
}

/// Last-level misses when each of 128 rows of 256 weights is multiplied by a batch of 32, 128 or 512 tokens of 256
/// floats.
std::vector<double> batches() {
  constexpr std::uint64_t rows = 128, row_bytes = 256 * 4, tokens_from = rows * row_bytes;
  std::vector<double> result;
  for (const std::uint64_t batch : {32, 128, 512}) {
    lab12::cache seen;
    for (std::uint64_t row = 0; row < rows; ++row)
      for (std::uint64_t token = 0; token < batch; ++token)
        for (std::uint64_t at = 0; at < row_bytes; at += 4) {
          seen.access(row * row_bytes + at, 4);
          seen.access(tokens_from + token * row_bytes + at, 4);
        }
    result.push_back(static_cast<double>(seen.last_misses));
  }
  return result;
}

/// How often lines move if 8 workers each store their own total 1000 times, with all totals side by side.
std::vector<double> neighbours() {
  std::vector<std::vector<lab12::shared_access>> cores(8);
  for (std::uint64_t w = 0; w < cores.size(); ++w) cores[w].assign(1000, {8 * w, true});
  return {static_cast<double>(lab12::lines_moved(cores))};
}

/// From given/records.md: which of A to D, as 1 to 4, are W, X, Y and Z; W's page faults for each of its 200 arrays of
/// 48 MiB; the milliseconds that all of O's threads waited; the share of samples within a page fault; the bytes from
/// 0x10 to the end of the line in perf c2c.
std::vector<double> records() {
  return {4, 3, 2, 1, 2457983.0 / 200, 9919 * 0.727, (1346.0 + 485 + 63) / 4258, 0x40 - 0x10};
}

/// Computed from the figures of given/h100.md; SEEN.md has the measurements. The first p for which the GPU computes W x
/// faster than one core at n = 2^p, and the same if W is copied there first; microseconds for eight parts in four
/// streams, where each copy hides the kernels of earlier parts.
std::vector<double> h100() {
  const auto first_power = [](double copied_bytes_per_us) {
    for (int power = 1;; ++power) {
      const double table = 4 * std::pow(4.0, power);
      const double core = table / (table <= 0x1p20 ? 32e3 : table <= 0x1p24 ? 22e3 : 8.5e3);
      if (15 + table / 2.8e6 + table / copied_bytes_per_us < core) return static_cast<double>(power);
    }
  };
  return {first_power(std::numeric_limits<double>::infinity()), first_power(53.8e3), 8 * 630 + 760};
}

// ---- all ------------------------------------------------------------------------------------------------------------

std::vector<test_case> cases() {
  std::vector<test_case> all;
  all.push_back(load_case("1x1", {1, 1}));
  all.push_back(load_case("1x5000", {1, 5000}));
  all.push_back(load_case("3x4096", {3, 4096, true}));
  all.push_back(load_case("7x4097", {7, 4097}));
  all.push_back(load_case("64x16384", {64, 16384}));
  all.push_back(load_case("500x300", {500, 300}));
  all.push_back(load_case("500x1", {500, 1}));
  all.push_back(load_case("6x900-short", {6, 900, false, weights::whole, 0, 300}));
  all.push_back(load_case("9x2000-far", {9, 2000, false, weights::whole, int64_t{5} << 30}));
  // 32 MiB, without gaps, so that the ceiling reads the same bytes.
  all.push_back(lab::timed(load_case("256x131072", {256, 131072, true})));
  all.back().counts_calls = false;
  all.push_back(load_case("5x3000-cut", {5, 3000, false, weights::cut}));
  all.push_back(load_case("1x1-cut", {1, 1, true, weights::cut}));
  all.push_back(load_case("40x9000-cut", {40, 9000, true, weights::cut}));
  all.push_back(load_case("500x300-cut", {500, 300, false, weights::cut}));
  all.push_back(load_case("2x100-missing", {2, 100, false, weights::missing}));
  all.push_back(load_case("2x100-folder", {2, 100, true, weights::folder}));

  // Neither the text of 12,000 tokens nor 2048 rows of 32 numbers fit in a buffer that exists already.
  const std::array<int64_t, 4> loops[] = {
      {1, 1, 0, 1}, {2, 3, 1, 17}, {1024, 64, 1023, 10}, {1024, 64, 3, 500}, {2048, 32, 5, 12'000}};
  for (const auto& [vocabulary, width, first, count] : loops)
    all.push_back(generate_case(vocabulary, width, first, count));
  all.push_back(generate_case(98, 31, 5, 100, numbers::small));
  all.push_back(generate_case(30, 8, 29, 20, numbers::below_zero));
  // A token exceeds 16 bits, and may have 7 digits; a state is too wide for any array on a stack.
  all.push_back(generate_case(70'000, 3, 69'999, 12, numbers::large));
  all.push_back(generate_case(1'200'000, 3, 1'199'999, 9, numbers::large));
  all.push_back(generate_case(7, 5000, 6, 40));

  all.push_back(pool_case(1, 1, 0, 1));
  all.push_back(pool_case(0, 3, 0, 2));
  all.push_back(pool_case(1000, 20, 50, 4));
  all.push_back(pool_case(4, 300, 200, 4));
  all.push_back(pool_case(5, 3, 100, 3, 30));
  all.push_back(pool_case(4, 20, 0, 4, 1, 1));
  all.push_back(pool_case(16, 20, 0, 4, 1, 1));  // repeated, so that not only the first parts count
  all.push_back(pool_case(8, 20, 0, 8, 1, 1));
  all.push_back(pool_case(12, 20, 0, 2, 3, 1));
  all.push_back(pool_case(4, 100, 1000, 4, 1, 2, 500));  // threads that poll instead of sleeping keep calling
  all.back().counts_calls = true;
  all.push_back(lab::timed(pool_case(4, 200, 1500, 4, 1, 2)));  // about 10 microseconds an operation

  for (const auto& [tokens, size] : {std::pair<int64_t, int64_t>{1, 16},
                                     {2, 64},
                                     {31, 32},
                                     {63, 48},
                                     {64, 16},
                                     {65, 64},
                                     {127, 32},
                                     {130, 48},
                                     {257, 16}})
    all.push_back(attention_case(tokens, size));
  all.push_back(attention_case(1100, 16));     // more keys than an array of a thousand holds
  all.push_back(attention_case(70, 32, {4}));  // many small weights
  all.push_back(attention_case(133, 64, {96}));
  all.push_back(attention_case(70, 64, {1, true}));
  all.push_back(lab::timed(attention_case(512, 32)));  // only its misses are graded

  for (const auto& [n, workers] : {std::pair<int64_t, int64_t>{0, 1}, {1, 1}, {7, 8}, {100, 3}, {1001, 8}, {4096, 32}})
    all.push_back(count_case(n, workers));
  all.push_back(count_case(8000, 8));

  for (const auto& [layers, n] : {std::pair<int64_t, int64_t>{1, 32},
                                  {2, 64},
                                  {3, 96},
                                  {5, 32},
                                  {8, 160},
                                  {24, 384},
                                  {16, 640},
                                  {100, 32},
                                  {1, 1024}})  // the most layers, and the largest
    all.push_back(forward_case(layers, n));

  for (const char* entry : {"read_in_pieces", "read_at_once", "map_and_copy"}) all.push_back(reader_case(entry));
  all.push_back(habit_case("allocate_often", 100));
  all.push_back(habit_case("ask_the_clock", 1000));
  all.push_back(habit_case("lock_and_unlock", 1000));
  all.push_back(lab::figures_case("figures/walks", walks));
  all.push_back(lab::figures_case("figures/batches", batches));
  all.push_back(lab::figures_case("figures/neighbours", neighbours));
  all.push_back(lab::figures_case("figures/records", records));
  all.push_back(lab::figures_case("figures/h100", h100));
  return all;
}

/// Random sizes: no submission can prepare for them.
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes draw(seed);
  std::vector<test_case> all;
  for (int i = 0; i < 2; ++i) {
    const int64_t count = draw(1, 500), most = draw(1, 5000);
    all.push_back(load_case(fmt::format("{}x{}", count, most), {count, most}));
    all.push_back(attention_case(draw(2, 300), 16 * draw(1, 4)));
    const int64_t vocabulary = draw(2, 300);
    all.push_back(generate_case(vocabulary, draw(1, 100), draw(0, vocabulary - 1), draw(1, 200)));
    all.push_back(count_case(draw(1, counted_from - 1), draw(2, 40)));
    all.push_back(forward_case(draw(1, 9), 32 * draw(1, 6)));
    all.push_back(pool_case(draw(0, 1000), draw(1, 50), draw(0, 300), draw(1, 8), draw(1, 3)));
  }
  // Larger than any case above.
  all.push_back(attention_case(draw(2049, 2200), 16));  // more keys than an array of two thousand holds
  all.push_back(generate_case(3, draw(5001, 9000), 1, 9));
  all.push_back(count_case(draw(8001, 20'000), draw(33, 40)));
  // Cases whose counters are read.
  all.push_back(lab::like("load/64x16384", load_case("counted", {draw(30, 63), draw(9000, 16'000)})));
  all.push_back(lab::like("generate/2048x32-12000",
                          generate_case(draw(500, 900), draw(20, 40), draw(0, 499), draw(9000, 12'000))));
  all.push_back(lab::like("attention/512x32", lab::timed(attention_case(64 * draw(6, 9) + 32, 32))));
  all.push_back(lab::like("count_positive/8000-8", count_case(draw(counted_from, 8000), draw(3, 30))));
  all.push_back(lab::like("forward/24x384", forward_case(draw(25, 30), 32 * draw(13, 15))));
  // Timed in official grading.
  const weights file{draw(257, 300), 131'072 + 64 * draw(0, 99), true};
  all.push_back(lab::like("load/256x131072", lab::timed(load_case("timed", file))));
  return all;
}

const lab::case_registration registration{"12_host", cases, drawn_cases};

}  // namespace
